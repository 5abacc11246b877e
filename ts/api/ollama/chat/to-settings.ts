/** Converts the settings of a request to those of a chat body, and records their origins. */

import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import type { FieldOrigins } from '../../shared/chat/field-origins.js';
import type { OllamaSettings } from '../schema.js';

export function toSettings(request: OllamaSettings, origins: FieldOrigins): Partial<ChatCompletionRequest> {
  const { logprobs, top_logprobs, stream = true } = request;
  return {
    stream,
    ...(logprobs !== undefined && { logprobs }),
    ...(top_logprobs !== undefined && { top_logprobs }),
    ...toSampling(request, origins),
    ...toFormat(request, origins),
    ...toReasoning(request, origins),
  };
}

/** Omits values that mean "unset" or "off" in Ollama. */
function toSampling({ options }: OllamaSettings, origins: FieldOrigins): Partial<ChatCompletionRequest> {
  const { num_predict: limit, top_k: topK, seed, ...sampling } = options ?? {};
  for (const name of Object.keys(sampling)) origins.set(name, `options.${name}`);
  origins.set('max_completion_tokens', 'options.num_predict');
  return {
    ...sampling,
    ...(topK !== undefined && { top_k: Math.max(topK, 0) }),
    ...(seed !== undefined && seed !== -1 && { seed }),
    ...(limit !== undefined && limit > 0 && { max_completion_tokens: limit }),
  };
}

function toFormat({ format }: OllamaSettings, origins: FieldOrigins): Partial<ChatCompletionRequest> {
  if (format === undefined || format === '') return {};
  origins.set('response_format', 'format');
  origins.set('response_format.json_schema.schema', 'format');
  if (typeof format === 'string') return { response_format: { type: 'json_object' } };
  return { response_format: { type: 'json_schema', json_schema: { schema: format } } };
}

function toReasoning({ think }: OllamaSettings, origins: FieldOrigins): Partial<ChatCompletionRequest> {
  if (think === undefined) return {};
  origins.set('chat_template_kwargs', 'think');
  origins.set('reasoning_effort', 'think');
  if (typeof think === 'boolean') return { chat_template_kwargs: { enable_thinking: think } };
  return { reasoning_effort: think, chat_template_kwargs: { enable_thinking: true } };
}
