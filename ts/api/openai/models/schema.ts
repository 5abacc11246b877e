/** Schemas of the model list, and of the requests that load and unload a model. */
import {
  anyOf,
  arrayOf,
  boolean,
  exactly,
  field,
  integer,
  number,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
  typed,
} from '../../../http/schema/json-schema.js';

const status = objectOf(
  { value: oneOf('unloaded', 'loading', 'loaded', 'failed') },
  {
    /** How much of it is loaded, from 0 to 1. */
    progress: number,
    /** Why it failed. */
    reason: string,
    pid: integer,
    /** The process that prepares requests for it. */
    preparation_pid: integer,
    /** Bytes of memory that both processes take, as measured last. */
    memory: integer,
    running: integer,
    /** How many requests wait for it to be loaded. */
    queued: integer,
    /** Time in Unix seconds at which the model is unloaded if it stays idle. */
    expires_at: integer,
    /** It stays, once it is loaded, until it is unloaded by name. */
    pinned: exactly(true),
  },
);

/** The same as the fields beside it, and more, under llama-server's names. */
const meta = objectOf({
  vocab_type: integer,
  n_vocab: integer,
  n_ctx: integer,
  n_ctx_train: integer,
  n_embd: integer,
  n_params: integer,
  size: integer,
  ftype: string,
  /** How a text's embedding comes about. */
  pooling: string,
});

const words = typed<readonly string[]>(arrayOf(string));

/** The fields that only a loaded model has are absent before. */
export const listedModelSchema = objectOf(
  {
    id: string,
    object: exactly('model'),
    /** Unix seconds; when the model was loaded, or before that, when the server came to know it. */
    created: integer,
    owned_by: string,
    status,
  },
  {
    /** Its other names, where it has any. */
    aliases: words,
    /** Of an adapter: the model that it belongs to. */
    parent: string,
    /** Bytes of its file; of its weights, once it is loaded. */
    size: integer,
    /** The longest prompt plus completion, in tokens. */
    context_length: integer,
    input_modalities: words,
    output_modalities: words,
    /** A subset of `completion`, `chat`, `infill`, `embeddings`, `rerank`. */
    capabilities: words,
    /** How the weights are stored, such as `Q4_K - Medium`. */
    quantization: string,
    meta,
  },
);

export const modelListSchema = objectOf({ object: exactly('list'), data: arrayOf(listedModelSchema) });

const modelStatusEvent = objectOf({
  model: string,
  event: exactly('model_status'),
  data: objectOf(
    { status: oneOf('unloaded', 'loading', 'loaded', 'failed') },
    {
      /** While it is being loaded; `value` is how much of it is, from 0 to 1. */
      progress: objectOf({ stages: arrayOf(string), current: string, value: number }),
      /** Why it failed; of one that is being loaded: why again, for its engine had ended. */
      reason: string,
    },
  ),
});

/** The model is no longer among those of the server. */
const modelRemoveEvent = objectOf({ model: string, event: exactly('model_remove') });

export const modelEventSchema = anyOf(modelStatusEvent, modelRemoveEvent);

const modelId = field('The id of the model.', string);

export const modelUnloadSchema = objectOf(
  { model: modelId },
  { force: field('Whether it is unloaded at once; requests that use it end with an error.', boolean) },
);

export const modelLoadSchema = objectOf(
  { model: modelId },
  {
    pin: field('Whether to keep the model loaded: it is neither evicted nor unloaded when idle.', boolean),
  },
);

/** The operation has begun; the list of models shows its progress. */
export const modelActionReplySchema = objectOf({ success: exactly(true) });

export type ListedModel = Static<typeof listedModelSchema>;
export type ModelList = Static<typeof modelListSchema>;
export type ModelStatusEvent = Static<typeof modelStatusEvent>;
export type ModelRemoveEvent = Static<typeof modelRemoveEvent>;
export type ModelLoad = Static<typeof modelLoadSchema>;
export type ModelUnload = Static<typeof modelUnloadSchema>;
export type ModelActionReply = Static<typeof modelActionReplySchema>;

export const anthropicModelSchema = objectOf({
  type: exactly('model'),
  id: string,
  display_name: string,
  /** RFC 3339; when the model was loaded, or before that, when the server came to know it. */
  created_at: string,
  /** Tokens, of prompt and completion together; `null` before the model is loaded. */
  max_input_tokens: orNull(integer),
  max_tokens: orNull(integer),
});

export const anthropicModelListSchema = objectOf({
  data: arrayOf(anthropicModelSchema),
  has_more: boolean,
  first_id: orNull(string),
  last_id: orNull(string),
});

export type AnthropicModel = Static<typeof anthropicModelSchema>;
export type AnthropicModelList = Static<typeof anthropicModelListSchema>;
