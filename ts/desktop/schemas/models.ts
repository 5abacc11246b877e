/** Local models, in LM Studio's shapes. */
import {
  anything,
  arrayOf,
  boolean,
  closedObjectOf,
  exactly,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
} from '../../http/schema/json-schema.js';

/** Covers model names, and paths on most systems. */
const MAX_NAME_LENGTH = 4096;

export const modelName = limited(string, { minLength: 1, maxLength: MAX_NAME_LENGTH });

/** Load options by name; checked against the table of load options. */
export const loadConfig = limited(recordOf(anything), { maxProperties: 100 });

export const loadedModel = objectOf({
  id: string,
  /** Key of the model file. */
  model: string,
  state: oneOf('loading', 'loaded', 'failed'),
  progress: orNull(number),
  memoryBytes: orNull(number),
  contextLength: orNull(integer),
  running: integer,
  queued: integer,
  /** Unix seconds. */
  expiresAt: orNull(number),
  /** Whether it is never evicted. */
  pinned: boolean,
  /** The engine process and the preparation process. */
  pid: orNull(integer),
  preparationPid: orNull(integer),
  reason: orNull(string),
  /** Notes on a loaded model, as sentences. */
  notes: arrayOf(string),
  config: loadConfig,
});

export const listedModel = objectOf({
  type: oneOf('llm', 'embedding'),
  publisher: string,
  key: string,
  display_name: string,
  architecture: orNull(string),
  quantization: orNull(objectOf({ name: string, bits_per_weight: orNull(number) })),
  size_bytes: number,
  params_string: orNull(string),
  loaded_instances: arrayOf(objectOf({ id: string, config: loadConfig })),
  max_context_length: orNull(integer),
  format: exactly('gguf'),
  capabilities: objectOf({ vision: boolean, trained_for_tool_use: boolean }),
  description: orNull(string),
  path: string,
  source: oneOf('hub', 'lmstudio', 'ollama', 'folder', 'builtin'),
  can_delete: boolean,
});

export const modelList = objectOf({ models: arrayOf(listedModel) });

export const loadBody = closedObjectOf(
  { model: modelName },
  {
    config: loadConfig,
    /** LM Studio's name for `config.contextSize`. */
    context_length: limited(integer, { minimum: 1 }),
    /** Instance id; default: the model's key. */
    identifier: limited(string, { minLength: 1, maxLength: 200 }),
    /** Idle seconds before it is unloaded; 0: never. */
    ttl: limited(integer, { minimum: 0, maximum: 1_000_000 }),
  },
);

export const loadReply = objectOf({
  type: oneOf('llm', 'embedding'),
  model_instance_id: string,
  status: exactly('loaded'),
  config: loadConfig,
  load_time_seconds: number,
});

export const instanceBody = closedObjectOf({ instance_id: modelName });
export const modelBody = closedObjectOf({ model: modelName });

export const importBody = closedObjectOf({
  path: limited(string, { minLength: 1, maxLength: MAX_NAME_LENGTH }),
  how: oneOf('copy', 'link', 'symlink'),
});

export const localModel = objectOf({
  id: string,
  path: string,
  projector: orNull(string),
  sizeBytes: number,
  quantisation: orNull(string),
  architecture: orNull(string),
  parameters: orNull(number),
  contextLength: orNull(integer),
  capabilities: arrayOf(oneOf('chat', 'tools', 'vision', 'embeddings')),
  source: listedModel.properties.source,
  canDelete: boolean,
  repo: orNull(string),
  commit: orNull(string),
});

export const removeReply = objectOf({ freed_bytes: number });

export type ImportBody = Static<typeof importBody>;
export type LocalModelShown = Static<typeof localModel>;
export type LoadedModel = Static<typeof loadedModel>;
export type ListedModel = Static<typeof listedModel>;
export type ModelList = Static<typeof modelList>;
export type LoadConfig = Static<typeof loadConfig>;
export type LoadBody = Static<typeof loadBody>;
export type LoadReply = Static<typeof loadReply>;
export type InstanceBody = Static<typeof instanceBody>;
export type ModelBody = Static<typeof modelBody>;
