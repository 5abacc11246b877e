/** Replies of LM Studio's endpoints: model lists, and additional fields of completions. */

import * as s from '../../http/schema/json-schema.js';
import { chatChunkSchema } from '../openai/chat/schema.js';
import { completionChunkSchema, completionReplySchema } from '../openai/completions/schema.js';
import { chatCompletionReplySchema } from '../shared/completion/chat-reply-schema.js';

/** Optional fields are absent until the model is loaded. */
export const lmStudioModelSchema = s.objectOf(
  {
    id: s.string,
    object: s.exactly('model'),
    publisher: s.string,
    compatibility_type: s.exactly('gguf'),
    state: s.oneOf('loaded', 'not-loaded'),
  },
  {
    type: s.oneOf('llm', 'vlm', 'embeddings'),
    arch: s.string,
    /** Such as `Q4_K_M`. */
    quantization: s.string,
    /** The longest context that the model was trained for, and the one that it was loaded with. */
    max_context_length: s.integer,
    loaded_context_length: s.integer,
    capabilities: s.arrayOf(s.exactly('tool_use')),
  },
);

export const lmStudioModelsSchema = s.objectOf({ object: s.exactly('list'), data: s.arrayOf(lmStudioModelSchema) });

export const lmStudioKeyedModelsSchema = s.objectOf({
  models: s.arrayOf(
    s.objectOf({
      type: s.oneOf('llm', 'embedding'),
      publisher: s.string,
      key: s.string,
      display_name: s.string,
      /** This and the following fields are null until the model is loaded. */
      architecture: s.orNull(s.string),
      quantization: s.orNull(s.objectOf({ name: s.string, bits_per_weight: s.orNull(s.number) })),
      size_bytes: s.orNull(s.integer),
      params_string: s.orNull(s.string),
      loaded_instances: s.arrayOf(s.objectOf({ id: s.string, config: s.recordOf(s.anything) })),
      max_context_length: s.orNull(s.integer),
      format: s.exactly('gguf'),
      capabilities: s.objectOf({ vision: s.boolean, audio: s.boolean, trained_for_tool_use: s.boolean }),
      description: s.orNull(s.string),
    }),
  ),
});

/** In whole replies, and in the chunk of a stream that ends a choice. */
const extras = {
  stats: s.objectOf({
    tokens_per_second: s.orNull(s.number),
    /** Both in seconds. */
    time_to_first_token: s.number,
    generation_time: s.number,
    stop_reason: s.oneOf(
      'eosFound',
      'stopStringFound',
      'maxPredictedTokensReached',
      'contextLengthReached',
      'toolCalls',
    ),
  }),
  model_info: s.objectOf({ arch: s.string, quant: s.string, format: s.exactly('gguf'), context_length: s.integer }),
  runtime: s.objectOf({ name: s.string, version: s.string, supported_formats: s.arrayOf(s.string) }),
};

export const lmStudioChatSchema = extended(chatCompletionReplySchema, Object.keys(extras));
export const lmStudioChunkSchema = extended(chatChunkSchema);
export const lmStudioTextSchema = extended(completionReplySchema, Object.keys(extras));
export const lmStudioTextChunkSchema = extended(completionChunkSchema);

/** The same object with LM Studio's fields. */
function extended(schema: { required?: string[]; properties: object }, required: string[] = []) {
  return s.typed<object>({
    ...schema,
    required: [...(schema.required ?? []), ...required],
    properties: { ...schema.properties, ...extras },
  });
}

export type LmStudioModel = s.Static<typeof lmStudioModelSchema>;
export type LmStudioModels = s.Static<typeof lmStudioModelsSchema>;
export type LmStudioKeyedModels = s.Static<typeof lmStudioKeyedModelsSchema>;
export type LmStudioExtras = { [Name in keyof typeof extras]: s.Static<(typeof extras)[Name]> };
