/** The replies of `GET /v1/models` and `GET /v1/models/{id}`. */
import { anyOf, arrayOf, boolean, exactly, integer, number, objectOf, oneOf, string } from './json-schema.js';

/** The fields that only a loaded model has are absent before. */
export interface ListedModel {
  id: string;
  /** Of an adapter: the model that it belongs to. */
  parent?: string;
  object: 'model';
  /** Unix seconds; when the model was loaded, or before that, when the server came to know it. */
  created: number;
  owned_by: string;
  status: {
    value: 'unloaded' | 'loading' | 'loaded' | 'failed';
    /** How much of it is loaded, from 0 to 1. */
    progress?: number;
    /** Why it failed. */
    reason?: string;
    /** The process of its engine. */
    pid?: number;
    /** Bytes of memory that it takes, as measured last. */
    memory?: number;
    /** How many requests use it. */
    running?: number;
    /** How many requests wait for it to be loaded. */
    queued?: number;
    /** Unix seconds; when it is unloaded if nobody uses it before. */
    expires_at?: number;
    /** It stays, once it is loaded, until it is unloaded by name. */
    pinned?: true;
  };
  /** Bytes of its file; of its weights, once it is loaded. */
  size?: number;
  /** The longest prompt plus completion, in tokens. */
  context_length?: number;
  input_modalities?: readonly string[];
  output_modalities?: readonly string[];
  /** What can be asked of it: `completion`, `chat`, `infill`, `embeddings`, `rerank`. */
  capabilities?: readonly string[];
  /** How the weights are stored, such as `Q4_K - Medium`. */
  quantization?: string;
  /** The same and more under llama-server's names. */
  meta?: {
    vocab_type: number;
    n_vocab: number;
    n_ctx: number;
    n_ctx_train: number;
    n_embd: number;
    n_params: number;
    size: number;
    ftype: string;
    /** How a text's vector comes about. */
    pooling: string;
  };
}

export interface ModelList {
  object: 'list';
  data: ListedModel[];
}

export const listedModelSchema = objectOf(
  {
    id: string,
    object: exactly('model'),
    created: integer,
    owned_by: string,
    status: objectOf(
      { value: oneOf('unloaded', 'loading', 'loaded', 'failed') },
      {
        progress: number,
        reason: string,
        pid: integer,
        memory: integer,
        running: integer,
        queued: integer,
        expires_at: integer,
        pinned: exactly(true),
      },
    ),
  },
  {
    parent: string,
    size: integer,
    context_length: integer,
    input_modalities: arrayOf(string),
    output_modalities: arrayOf(string),
    capabilities: arrayOf(string),
    quantization: string,
    meta: objectOf({
      vocab_type: integer,
      n_vocab: integer,
      n_ctx: integer,
      n_ctx_train: integer,
      n_embd: integer,
      n_params: integer,
      size: integer,
      ftype: string,
      pooling: string,
    }),
  },
);

export const modelListSchema = objectOf({ object: exactly('list'), data: arrayOf(listedModelSchema) });

/** An event of `GET /models/sse`. */
export interface ModelStatusEvent {
  model: string;
  event: 'model_status';
  data: {
    status: ListedModel['status']['value'];
    /** While it is being loaded; `value` is how much of it is, from 0 to 1. */
    progress?: { stages: string[]; current: string; value: number };
    /** Why it failed. */
    reason?: string;
  };
}

/** Another one: the model is no longer among those of the server. */
export interface ModelRemoveEvent {
  model: string;
  event: 'model_remove';
}

export const modelEventSchema = anyOf(
  objectOf({
    model: string,
    event: exactly('model_status'),
    data: objectOf(
      { status: oneOf('unloaded', 'loading', 'loaded', 'failed') },
      { progress: objectOf({ stages: arrayOf(string), current: string, value: number }), reason: string },
    ),
  }),
  objectOf({ model: string, event: exactly('model_remove') }),
);

/** The body of `POST /models/unload`. */
export interface ModelAction {
  model: string;
}

export const modelActionSchema = objectOf({ model: string });

/** The body of `POST /models/load`. */
export interface ModelLoad extends ModelAction {
  /** Whether it stays from now on, however long nobody uses it and whoever else needs room; default: as it was. */
  pin?: boolean;
}

export const modelLoadSchema = objectOf({ model: string }, { pin: boolean });

/** It has begun; the list of models says how it goes on. */
export interface ModelActionReply {
  success: true;
}

export const modelActionReplySchema = objectOf({ success: exactly(true) });
