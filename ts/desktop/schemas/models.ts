/** The models of this computer, in the shapes that LM Studio gives them. */
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

/** No model's name is longer, nor is a path on most systems. */
const MAX_NAME_LENGTH = 4096;

export const modelName = limited(string, { minLength: 1, maxLength: MAX_NAME_LENGTH });

/** Values of load options by their names; what each takes is checked against the table of load options. */
export const loadConfig = limited(recordOf(anything), { maxProperties: 100 });

export const loadedModel = objectOf({
  id: string,
  /** The key of the model that it was loaded from. */
  model: string,
  state: oneOf('loading', 'loaded', 'failed'),
  progress: orNull(number),
  memoryBytes: orNull(number),
  contextLength: orNull(integer),
  running: integer,
  queued: integer,
  /** Unix seconds. */
  expiresAt: orNull(number),
  /** Whether it stays whoever else needs room. */
  pinned: boolean,
  /** The process of its engine, and the one that prepares requests for it. */
  pid: orNull(integer),
  preparationPid: orNull(integer),
  /** Why it failed. */
  reason: orNull(string),
  /** Of one that is loaded: what is not as one might expect, in sentences. */
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
    /** LM Studio's name and place of `config.contextSize`. */
    context_length: limited(integer, { minimum: 1 }),
    /** The id of the instance; default: the model's key. */
    identifier: limited(string, { minLength: 1, maxLength: 200 }),
    /** Seconds that it stays loaded when nobody uses it; 0 is for ever. */
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
