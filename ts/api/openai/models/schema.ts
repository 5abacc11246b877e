/** Schemas of the model list, and of the requests that load and unload a model. */
import * as s from '../../../http/schema/json-schema.js';

/** Bytes of each file of a download, by its digest. */
const fileProgress = s.recordOf(s.objectOf({ done: s.integer, total: s.integer }));

const status = s.objectOf(
  { value: s.oneOf('unloaded', 'loading', 'loaded', 'failed', 'downloading') },
  {
    /** Progress of the load, from 0 to 1; of a download, the bytes of each file. */
    progress: s.anyOf(s.number, fileProgress),
    /** The reason of the failure. */
    reason: s.string,
    pid: s.integer,
    /** The process that prepares requests for the model. */
    preparation_pid: s.integer,
    /** Memory of both processes in bytes, at the last measurement. */
    memory: s.integer,
    running: s.integer,
    /** Number of requests that wait for the load. */
    queued: s.integer,
    /** Time in Unix seconds at which the model is unloaded if it stays idle. */
    expires_at: s.integer,
    /** Whether the loaded model is never evicted. Only an explicit unload removes it. */
    pinned: s.exactly(true),
  },
);

/** The same facts as in the other fields, and more, under llama-server's names. */
const meta = s.objectOf({
  vocab_type: s.integer,
  n_vocab: s.integer,
  n_ctx: s.integer,
  n_ctx_train: s.integer,
  n_embd: s.integer,
  n_params: s.integer,
  size: s.integer,
  ftype: s.string,
  /** Pooling method of embeddings. */
  pooling: s.string,
});

const words = s.typed<readonly string[]>(s.arrayOf(s.string));

/** Fields of loaded models only. */
export const listedModelSchema = s.objectOf(
  {
    id: s.string,
    object: s.exactly('model'),
    /** Unix seconds of the load. Before it, the time at which the server found the model. */
    created: s.integer,
    owned_by: s.string,
    status,
  },
  {
    /** Other names of the model. Absent if it has none. */
    aliases: words,
    /** The option `tags` of the model. Absent if there are none. */
    tags: words,
    /** The base model of an adapter. */
    parent: s.string,
    /** Size in bytes: of the file, or of the weights of a loaded model. */
    size: s.integer,
    /** Maximum of prompt plus completion, in tokens. */
    context_length: s.integer,
    input_modalities: words,
    output_modalities: words,
    /** A subset of `completion`, `chat`, `infill`, `embeddings`, `rerank`. */
    capabilities: words,
    /** Quantization of the weights, such as `Q4_K - Medium`. */
    quantization: s.string,
    meta,
  },
);

const nativeModel = s.objectOf({
  name: s.string,
  model: s.string,
  type: s.exactly('model'),
  /** The capabilities in `data`, and `multimodal` if the model takes images. */
  capabilities: words,
  details: s.objectOf({ format: s.exactly('gguf'), quantization_level: s.string }),
});

export type NativeModel = s.Static<typeof nativeModel>;

export const modelListSchema = s.objectOf(
  { object: s.exactly('list'), data: s.arrayOf(listedModelSchema) },
  {
    /** Loaded models in the form of llama-server, in local modes. */
    models: s.arrayOf(nativeModel),
  },
);

const modelStatusEvent = s.objectOf({
  model: s.string,
  event: s.exactly('model_status'),
  data: s.objectOf(
    { status: s.oneOf('unloaded', 'loading', 'loaded', 'failed') },
    {
      /** Sent during a load; `value` is the progress from 0 to 1. */
      progress: s.objectOf({ stages: s.arrayOf(s.string), current: s.string, value: s.number }),
      /** The reason of the failure. For a loading model: the failure that caused this restart. */
      reason: s.string,
    },
  ),
});

/** The model was removed from the server. */
const modelRemoveEvent = s.objectOf({ model: s.string, event: s.exactly('model_remove') });

const downloadProgressEvent = s.objectOf({
  model: s.string,
  event: s.exactly('download_progress'),
  data: s.objectOf({ progress: fileProgress }),
});

/** The model is in the list of models. */
const downloadFinishedEvent = s.objectOf({ model: s.string, event: s.exactly('download_finished') });

const downloadFailedEvent = s.objectOf({
  model: s.string,
  event: s.exactly('download_failed'),
  data: s.objectOf({ reason: s.string }),
});

export const modelEventSchema = s.anyOf(
  modelStatusEvent,
  modelRemoveEvent,
  downloadProgressEvent,
  downloadFinishedEvent,
  downloadFailedEvent,
);

const modelId = s.field('The id of the model.', s.string);

export const modelUnloadSchema = s.objectOf(
  { model: modelId },
  { force: s.field('Whether to unload it immediately. Running requests end with an error.', s.boolean) },
);

export const modelLoadSchema = s.objectOf(
  { model: modelId },
  {
    pin: s.field('Whether to keep the model loaded: it is neither evicted nor unloaded when idle.', s.boolean),
  },
);

export type ListedModel = s.Static<typeof listedModelSchema>;
export type ModelList = s.Static<typeof modelListSchema>;
export type ModelStatusEvent = s.Static<typeof modelStatusEvent>;
export type ModelRemoveEvent = s.Static<typeof modelRemoveEvent>;
export type ModelLoad = s.Static<typeof modelLoadSchema>;
export type ModelUnload = s.Static<typeof modelUnloadSchema>;

export const anthropicModelSchema = s.objectOf({
  type: s.exactly('model'),
  id: s.string,
  display_name: s.string,
  /** RFC 3339 time of the load. Before it, the time at which the server found the model. */
  created_at: s.string,
  /** Tokens of prompt and completion together; null before the load. */
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
