/** Replies of LM Studio's endpoints: model lists, and additional fields of completions. */

import {
  anything,
  arrayOf,
  boolean,
  exactly,
  integer,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
  typed,
} from '../../http/schema/json-schema.js';
import { chatChunkSchema } from '../openai/chat/schema.js';
import { completionChunkSchema, completionReplySchema } from '../openai/completions/schema.js';
import { chatCompletionReplySchema } from '../shared/completion/chat-reply-schema.js';

/** Fields that only a loaded model has are absent before. */
export const lmStudioModelSchema = objectOf(
  {
    id: string,
    object: exactly('model'),
    publisher: string,
    compatibility_type: exactly('gguf'),
    state: oneOf('loaded', 'not-loaded'),
  },
  {
    type: oneOf('llm', 'vlm', 'embeddings'),
    arch: string,
    /** Such as `Q4_K_M`. */
    quantization: string,
    /** The longest context that the model was trained for, and the one that it was loaded with. */
    max_context_length: integer,
    loaded_context_length: integer,
    capabilities: arrayOf(exactly('tool_use')),
  },
);

export const lmStudioModelsSchema = objectOf({ object: exactly('list'), data: arrayOf(lmStudioModelSchema) });

export const lmStudioKeyedModelsSchema = objectOf({
  models: arrayOf(
    objectOf({
      type: oneOf('llm', 'embedding'),
      publisher: string,
      key: string,
      display_name: string,
      /** Null, as what follows, for a model that is not loaded: it is not known. */
      architecture: orNull(string),
      quantization: orNull(objectOf({ name: string, bits_per_weight: orNull(number) })),
      size_bytes: orNull(integer),
      params_string: orNull(string),
      loaded_instances: arrayOf(objectOf({ id: string, config: recordOf(anything) })),
      max_context_length: orNull(integer),
      format: exactly('gguf'),
      capabilities: objectOf({ vision: boolean, trained_for_tool_use: boolean }),
      description: orNull(string),
    }),
  ),
});

/** The reply has it, and of a stream the chunk that ends a choice. */
const extras = {
  stats: objectOf({
    tokens_per_second: orNull(number),
    /** Both in seconds. */
    time_to_first_token: number,
    generation_time: number,
    stop_reason: oneOf('eosFound', 'stopStringFound', 'maxPredictedTokensReached', 'contextLengthReached', 'toolCalls'),
  }),
  model_info: objectOf({ arch: string, quant: string, format: exactly('gguf'), context_length: integer }),
  runtime: objectOf({ name: string, version: string, supported_formats: arrayOf(string) }),
};

export const lmStudioChatSchema = extended(chatCompletionReplySchema, Object.keys(extras));
export const lmStudioChunkSchema = extended(chatChunkSchema);
export const lmStudioTextSchema = extended(completionReplySchema, Object.keys(extras));
export const lmStudioTextChunkSchema = extended(completionChunkSchema);

/** The same object with LM Studio's fields. */
function extended(schema: { required?: string[]; properties: object }, required: string[] = []) {
  return typed<object>({
    ...schema,
    required: [...(schema.required ?? []), ...required],
    properties: { ...schema.properties, ...extras },
  });
}

export type LmStudioModel = Static<typeof lmStudioModelSchema>;
export type LmStudioModels = Static<typeof lmStudioModelsSchema>;
export type LmStudioKeyedModels = Static<typeof lmStudioKeyedModelsSchema>;
export type LmStudioExtras = { [Name in keyof typeof extras]: Static<(typeof extras)[Name]> };
