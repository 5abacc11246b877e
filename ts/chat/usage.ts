import type { Finish } from '../engine/engine.js';
import type { Usage } from '../schemas/chat-response.js';

/** Counts of all choices. Their common prompt counts once, and as cached is what the first of them found so. */
export function toUsage(choices: readonly Finish[]): Usage {
  const promptTokens = choices[0]?.promptTokens ?? 0;
  const completionTokens = choices.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(...choices.map(({ cachedTokens }) => cachedTokens)) },
  };
}
