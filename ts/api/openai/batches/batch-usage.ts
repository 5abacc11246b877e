/** The tokens of a batch, in the form of OpenAI. */
import type { BatchObject } from '../../shared/batch-schema.js';

export type BatchUsage = NonNullable<BatchObject['usage']>;

export const NO_USAGE: BatchUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

interface ReplyUsage {
  prompt_tokens?: number;
  input_tokens?: number;
  completion_tokens?: number;
  output_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number };
  input_tokens_details?: { cached_tokens?: number };
  completion_tokens_details?: { reasoning_tokens?: number };
  output_tokens_details?: { reasoning_tokens?: number };
}

/** `usage`: of a reply of any endpoint. Responses name its fields differently from chats and texts. */
export function addUsage(sum: BatchUsage, usage: ReplyUsage = {}): BatchUsage {
  const input = usage.input_tokens ?? usage.prompt_tokens ?? 0;
  const output = usage.output_tokens ?? usage.completion_tokens ?? 0;
  const { cached_tokens = 0 } = usage.input_tokens_details ?? usage.prompt_tokens_details ?? {};
  const { reasoning_tokens = 0 } = usage.output_tokens_details ?? usage.completion_tokens_details ?? {};
  return {
    input_tokens: sum.input_tokens + input,
    input_tokens_details: { cached_tokens: sum.input_tokens_details.cached_tokens + cached_tokens },
    output_tokens: sum.output_tokens + output,
    output_tokens_details: { reasoning_tokens: sum.output_tokens_details.reasoning_tokens + reasoning_tokens },
    total_tokens: sum.total_tokens + input + output,
  };
}
