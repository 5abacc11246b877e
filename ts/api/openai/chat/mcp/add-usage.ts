/** The usage of several completions. */
import type { ChatCompletion } from '../../../shared/completion/chat-reply-schema.js';

type Usage = ChatCompletion['usage'];

export function addUsage(earlier: Usage | null, usage: Usage): Usage {
  if (earlier === null) return usage;
  const reasoning = earlier.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    ...usage,
    prompt_tokens: earlier.prompt_tokens + usage.prompt_tokens,
    completion_tokens: earlier.completion_tokens + usage.completion_tokens,
    total_tokens: earlier.total_tokens + usage.total_tokens,
    prompt_tokens_details: {
      cached_tokens: earlier.prompt_tokens_details.cached_tokens + usage.prompt_tokens_details.cached_tokens,
    },
    ...(usage.completion_tokens_details && {
      completion_tokens_details: { reasoning_tokens: reasoning + usage.completion_tokens_details.reasoning_tokens },
    }),
  };
}
