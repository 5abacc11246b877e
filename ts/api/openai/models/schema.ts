/** Schemas of the model list, and of the requests that load and unload a model. */
import * as s from '../../../http/schema/json-schema.js';

const status = s.objectOf(
  { value: s.oneOf('unloaded', 'loading', 'loaded', 'failed') },
  {
    /** How much of it is loaded, from 0 to 1. */
    progress: s.number,
    /** Why it failed. */
    reason: s.string,
    pid: s.integer,
    /** The process that prepares requests for it. */
    preparation_pid: s.integer,
    /** Bytes of memory that both processes take, as measured last. */
    memory: s.integer,
    running: s.integer,
    /** How many requests wait for it to be loaded. */
    queued: s.integer,
    /** Time in Unix seconds at which the model is unloaded if it stays idle. */
    expires_at: s.integer,
    /** It stays, once it is loaded, until it is unloaded by name. */
    pinned: s.exactly(true),
  },
);

/** The same as the fields beside it, and more, under llama-server's names. */
const meta = s.objectOf({
  vocab_type: s.integer,
  n_vocab: s.integer,
  n_ctx: s.integer,
  n_ctx_train: s.integer,
  n_embd: s.integer,
  n_params: s.integer,
  size: s.integer,
  ftype: s.string,
  /** How a text's embedding comes about. */
  pooling: s.string,
});

const words = s.typed<readonly string[]>(s.arrayOf(s.string));

/** The fields that only a loaded model has are absent before. */
export const listedModelSchema = s.objectOf(
  {
    id: s.string,
    object: s.exactly('model'),
    /** Unix seconds; when the model was loaded, or before that, when the server came to know it. */
    created: s.integer,
    owned_by: s.string,
    status,
  },
  {
    /** Its other names, where it has any. */
    aliases: words,
    /** Of an adapter: the model that it belongs to. */
    parent: s.string,
    /** Bytes of its file; of its weights, once it is loaded. */
    size: s.integer,
    /** The longest prompt plus completion, in tokens. */
    context_length: s.integer,
    input_modalities: words,
    output_modalities: words,
    /** A subset of `completion`, `chat`, `infill`, `embeddings`, `rerank`. */
    capabilities: words,
    /** How the weights are stored, such as `Q4_K - Medium`. */
    quantization: s.string,
    meta,
  },
);

const nativeModel = s.objectOf({
  name: s.string,
  model: s.string,
  type: s.exactly('model'),
  /** Those of the entry in `data`, and `multimodal` if the model takes images. */
  capabilities: words,
  details: s.objectOf({ format: s.exactly('gguf'), quantization_level: s.string }),
});

export type NativeModel = s.Static<typeof nativeModel>;

export const modelListSchema = s.objectOf(
  { object: s.exactly('list'), data: s.arrayOf(listedModelSchema) },
  {
    /** Loaded models as llama-server lists them, in local modes. */
    models: s.arrayOf(nativeModel),
  },
);

const modelStatusEvent = s.objectOf({
  model: s.string,
  event: s.exactly('model_status'),
  data: s.objectOf(
    { status: s.oneOf('unloaded', 'loading', 'loaded', 'failed') },
    {
      /** While it is being loaded; `value` is how much of it is, from 0 to 1. */
      progress: s.objectOf({ stages: s.arrayOf(s.string), current: s.string, value: s.number }),
      /** Why it failed; of one that is being loaded: why again, for its engine had ended. */
      reason: s.string,
    },
  ),
});

/** The model is no longer among those of the server. */
const modelRemoveEvent = s.objectOf({ model: s.string, event: s.exactly('model_remove') });

export const modelEventSchema = s.anyOf(modelStatusEvent, modelRemoveEvent);

const modelId = s.field('The id of the model.', s.string);

export const modelUnloadSchema = s.objectOf(
  { model: modelId },
  { force: s.field('Whether it is unloaded at once; requests that use it end with an error.', s.boolean) },
);

export const modelLoadSchema = s.objectOf(
  { model: modelId },
  {
    pin: s.field('Whether to keep the model loaded: it is neither evicted nor unloaded when idle.', s.boolean),
  },
);

/** The operation has begun; the list of models shows its progress. */
export const modelActionReplySchema = s.objectOf({ success: s.exactly(true) });

export type ListedModel = s.Static<typeof listedModelSchema>;
export type ModelList = s.Static<typeof modelListSchema>;
export type ModelStatusEvent = s.Static<typeof modelStatusEvent>;
export type ModelRemoveEvent = s.Static<typeof modelRemoveEvent>;
export type ModelLoad = s.Static<typeof modelLoadSchema>;
export type ModelUnload = s.Static<typeof modelUnloadSchema>;
export type ModelActionReply = s.Static<typeof modelActionReplySchema>;

export const anthropicModelSchema = s.objectOf({
  type: s.exactly('model'),
  id: s.string,
  display_name: s.string,
  /** RFC 3339; when the model was loaded, or before that, when the server came to know it. */
  created_at: s.string,
  /** Tokens, of prompt and completion together; `null` before the model is loaded. */
  max_input_tokens: s.orNull(s.integer),
  max_tokens: s.orNull(s.integer),
});

export const anthropicModelListSchema = s.objectOf({
  data: s.arrayOf(anthropicModelSchema),
  has_more: s.boolean,
  first_id: s.orNull(s.string),
  last_id: s.orNull(s.string),
});

export type AnthropicModel = s.Static<typeof anthropicModelSchema>;
export type AnthropicModelList = s.Static<typeof anthropicModelListSchema>;
