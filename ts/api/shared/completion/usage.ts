import type { Finish } from '../../../engine/engine.js';
import type { Usage } from './chat-reply-schema.js';

/**
 * Counts of all choices. Their common prompt counts once; its cached tokens are those that every choice found, because what
 * one of them did not find was computed for this request.
 * `reasoningTokens` is how many of the choices' tokens were reasoning; with `null` the usage does not mention it.
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

/** The sum over all choices; `null` for completions without a format, which do not tell reasoning apart. */
export function totalReasoningTokens(choices: readonly { reasoningTokens: number | null }[]): number | null {
  if (choices.some(({ reasoningTokens }) => reasoningTokens === null)) return null;
  return choices.reduce((sum, { reasoningTokens }) => sum + (reasoningTokens ?? 0), 0);
}
