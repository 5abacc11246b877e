import type { Finish } from '../engine/engine.js';
import type { Usage } from '../schemas/chat-response.js';

/**
 * Counts of all choices. Their common prompt counts once, and as cached is what the first of them found so.
 * `reasoningTokens`: how many of the answers' tokens were reasoning; `null` says nothing about it.
 */
export function toUsage(choices: readonly Finish[], reasoningTokens: number | null = null): Usage {
  const promptTokens = choices[0]?.promptTokens ?? 0;
  const completionTokens = choices.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(...choices.map(({ cachedTokens }) => cachedTokens)) },
    ...(reasoningTokens !== null && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}

/** Of all choices together; `null` where answers have no format that tells. */
export function totalReasoningTokens(choices: readonly { reasoningTokens: number | null }[]): number | null {
  if (choices.some(({ reasoningTokens }) => reasoningTokens === null)) return null;
  return choices.reduce((sum, { reasoningTokens }) => sum + (reasoningTokens ?? 0), 0);
}
