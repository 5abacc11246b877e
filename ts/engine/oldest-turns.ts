/** Decides which turns of a conversation that exceeds the context are left out. */

/** Leaves room for this and later completions, so that not every question shortens the conversation again. */
const KEPT_SHARE = 0.6;

/** The number of tokens of the prompt, or a lower bound of it, and of the context. */
export interface Overflow {
  promptTokens: number;
  contextLength: number;
}

/**
 * Returns the index of the first message to keep, one of the user's; 0: none can be left out. `sizes` are the lengths of the
 * messages in any unit. The last turn is always kept.
 */
export function firstKept(
  messages: readonly { readonly role: string }[],
  sizes: readonly number[],
  { promptTokens, contextLength }: Overflow,
): number {
  const sum = (some: readonly number[]) => some.reduce((total, size) => total + size, 0);
  const budget = sum(sizes) * KEPT_SHARE * Math.min(1, contextLength / promptTokens);
  const starts = messages.flatMap(({ role }, index) => (role === 'user' && index > 0 ? [index] : []));
  return starts.find((start) => sum(sizes.slice(start)) <= budget) ?? starts.at(-1) ?? 0;
}
