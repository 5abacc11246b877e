/** Converts a raw request, which uses no chat template, to a text completion body. */
import { FieldOrigins } from '../../shared/chat/field-origins.js';
import type { CompletionRequest } from '../../shared/text/text-schema.js';
import type { OllamaGenerateRequest } from '../schema.js';
import { toSettings } from './to-settings.js';

export interface TextTranslation {
  body: CompletionRequest;
  origins: FieldOrigins;
}

export function generateToText(request: OllamaGenerateRequest): TextTranslation {
  const origins = new FieldOrigins();
  const { model, prompt = '', suffix, format: _format, think: _think, ...rest } = request;
  const {
    logprobs,
    top_logprobs: alternatives = 0,
    max_completion_tokens: limit,
    ...settings
  } = toSettings(rest, origins);
  origins.set('max_tokens', 'options.num_predict');
  const shared = settings as Partial<CompletionRequest>;
  return {
    body: {
      ...shared,
      model,
      prompt,
      ...(limit !== undefined && { max_tokens: limit }),
      ...(suffix && { suffix }),
      ...(logprobs && { logprobs: alternatives }),
    },
    origins,
  };
}
