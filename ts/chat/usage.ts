import type { Finish } from '../engine/engine.js';
import type { Usage } from '../schemas/chat-response.js';

export function toUsage(finish: Finish): Usage {
  return {
    prompt_tokens: finish.promptTokens,
    completion_tokens: finish.completionTokens,
    total_tokens: finish.promptTokens + finish.completionTokens,
    prompt_tokens_details: { cached_tokens: finish.cachedTokens },
  };
}
