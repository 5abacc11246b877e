/** Converts the settings of a llama-server request to a text completion body. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';
import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import type { CompletionRequest } from '../../shared/text/text-schema.js';
import type { NativeSettings } from '../schema.js';
import { toLogitBias } from './to-logit-bias.js';

/** Beside the fields of that body, it may have a grammar. */
type TextRequest = CompletionRequest & Pick<ChatCompletionRequest, 'grammar'>;

export async function toCompletionRequest(
  engine: Engine,
  settings: NativeSettings,
  prompt: string[] | number[][],
  on: AbortOptions,
): Promise<TextRequest> {
  const {
    n_predict: limit = settings.max_tokens,
    max_tokens: _limit,
    n_probs: alternatives,
    logit_bias: biases,
    grammar,
    return_tokens: _tokens,
    response_fields: _fields,
    post_sampling_probs: _probs,
    json_schema: schema,
    ...shared
  } = settings;
  return {
    ...shared,
    model: engine.model.id,
    prompt: prompt.length === 1 && typeof prompt[0] === 'object' ? prompt[0] : prompt,
    ...(limit !== undefined && limit >= 0 && { max_tokens: Math.max(limit, 1) }),
    ...(alternatives && { logprobs: alternatives }),
    ...(grammar && { grammar }),
    ...(schema && { json_schema: schema }),
    ...(biases && { logit_bias: await toLogitBias(engine, biases, on) }),
  };
}

/** Whether the prompt is only to be read: one token is computed then, and not shown. */
export function onlyReads({ n_predict: limit, max_tokens: other }: NativeSettings): boolean {
  return (limit ?? other) === 0;
}
