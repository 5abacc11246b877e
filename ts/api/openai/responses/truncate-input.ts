/** `truncation: "auto"`: omits the oldest items of a conversation that does not fit into the context. */
import type { InputItem } from './input-schema.js';
import type { SourcedItem } from './resolve-input.js';

export interface TruncationLimits {
  contextLength: number;
  /** Maximum length of the completion in tokens, if the request limits it. */
  maxTokens: number | undefined;
}

/**
 * Returns the items to keep. Instructions, summaries, the last user message and the items of the last call or message are always
 * kept. The rest of a truncated conversation leaves a quarter of the context to this and later completions, or up to half
 * of it if `maxTokens` is larger: the cached prefix of a conversation that is truncated at every turn would be useless.
 */
export async function truncateInput(
  items: readonly SourcedItem[],
  { contextLength, maxTokens = 0 }: TruncationLimits,
  count: (items: readonly SourcedItem[]) => Promise<number>,
): Promise<readonly SourcedItem[]> {
  const units = unitsOf(items.map(({ item }) => item));
  const number = units.reduce<number>((most, unit) => Math.max(most, (unit ?? -1) + 1), 0);
  const without = (omitted: number) => items.filter((_, at) => (units[at] ?? number) >= omitted);
  const target = contextLength - Math.min(Math.max(maxTokens, contextLength / 4), contextLength / 2);
  let [few, many] = [0, number];
  while (few < many) {
    const middle = (few + many) >> 1;
    if ((await count(without(middle))) <= target) many = middle;
    else few = middle + 1;
  }
  return without(few);
}

/**
 * The number of each item's unit, or null for items that are always kept. Units are omitted in the order of their numbers.
 * Before the last user message a unit is a whole turn, because templates refuse conversations that begin with the assistant.
 * After it, a unit is one call with its output, or a message, with the reasoning before it.
 */
function unitsOf(items: readonly InputItem[]): (number | null)[] {
  const question = items.findLastIndex(isFromUser);
  const calls = new Map<string, number>();
  let current = 0;
  let isOpen = false;
  const units = items.map((item, at) => {
    if (at === question) {
      current += isOpen ? 1 : 0;
      isOpen = false;
      return null;
    }
    if (item.type === 'compaction') return null;
    if (item.type === 'message' && (item.role === 'system' || item.role === 'developer')) return null;
    const own = item.type.endsWith('_output') ? calls.get(callIdOf(item)) : undefined;
    if (own !== undefined) return own;
    if (isOpen && at < question && isFromUser(item)) current += 1;
    const unit = current;
    if (item.type.endsWith('_call')) calls.set(callIdOf(item), unit);
    isOpen = at < question || item.type === 'reasoning';
    current += isOpen ? 0 : 1;
    return unit;
  });
  const last = units.at(-1);
  return units.map((unit) => (unit === last ? null : unit));
}

/** Some outputs have it as `id`. */
function callIdOf(item: InputItem): string {
  const { call_id: callId, id } = item as { call_id?: string | null; id?: string | null };
  return callId ?? id ?? '';
}

function isFromUser(item: InputItem): boolean {
  return item.type === 'message' && item.role === 'user';
}
