/** Local models, in LM Studio's shapes. */
import * as s from '../../http/schema/json-schema.js';

/** Covers model names, and paths on most systems. */
const MAX_NAME_LENGTH = 4096;

const reasoningOptions = s.arrayOf(s.oneOf('off', 'on', 'low', 'medium', 'high'));

export const modelName = s.limited(s.string, { minLength: 1, maxLength: MAX_NAME_LENGTH });

/** Load options by name; checked against the table of load options. */
export const loadConfig = s.limited(s.recordOf(s.anything), { maxProperties: 100 });

export const loadedModel = s.objectOf({
  id: s.string,
  /** Key of the model file. */
  model: s.string,
  state: s.oneOf('loading', 'loaded', 'failed'),
  progress: s.orNull(s.number),
  memoryBytes: s.orNull(s.number),
  contextLength: s.orNull(s.integer),
  /** Whether it takes audio. */
  audio: s.boolean,
  running: s.integer,
  queued: s.integer,
  /** Unix seconds. */
  expiresAt: s.orNull(s.number),
  /** Whether it is never evicted. */
  pinned: s.boolean,
  /** The engine process and the preparation process. */
  pid: s.orNull(s.integer),
  preparationPid: s.orNull(s.integer),
  reason: s.orNull(s.string),
  /** Notes on a loaded model, as sentences. */
  notes: s.arrayOf(s.string),
  config: loadConfig,
});

export const listedModel = s.objectOf({
  type: s.oneOf('llm', 'embedding'),
  publisher: s.string,
  key: s.string,
  display_name: s.string,
  architecture: s.orNull(s.string),
  quantization: s.orNull(s.objectOf({ name: s.string, bits_per_weight: s.orNull(s.number) })),
  size_bytes: s.number,
  params_string: s.orNull(s.string),
  loaded_instances: s.arrayOf(s.objectOf({ id: s.string, config: loadConfig })),
  max_context_length: s.orNull(s.integer),
  format: s.exactly('gguf'),
  capabilities: s.objectOf(
    { vision: s.boolean, trained_for_tool_use: s.boolean },
    /** Absent if the chat template has no such variable. */
    { reasoning: s.objectOf({ allowed_options: reasoningOptions }) },
  ),
  description: s.orNull(s.string),
  path: s.string,
  source: s.oneOf('hub', 'lmstudio', 'ollama', 'folder', 'builtin'),
  can_delete: s.boolean,
});

export const modelList = s.objectOf({ models: s.arrayOf(listedModel) });

export const loadBody = s.closedObjectOf(
  { model: modelName },
  {
    config: loadConfig,
    /** LM Studio's name for `config.contextSize`. */
    context_length: s.limited(s.integer, { minimum: 1 }),
    /** Instance id; default: the model's key. */
    identifier: s.limited(s.string, { minLength: 1, maxLength: 200 }),
    /** Idle seconds before it is unloaded; 0: never. */
    ttl: s.limited(s.integer, { minimum: 0, maximum: 1_000_000 }),
  },
);

export const loadReply = s.objectOf({
  type: s.oneOf('llm', 'embedding'),
  model_instance_id: s.string,
  status: s.exactly('loaded'),
  config: loadConfig,
  load_time_seconds: s.number,
});

export const instanceBody = s.closedObjectOf({ instance_id: modelName });
export const modelBody = s.closedObjectOf({ model: modelName });

export const importBody = s.closedObjectOf({
  path: s.limited(s.string, { minLength: 1, maxLength: MAX_NAME_LENGTH }),
  how: s.oneOf('copy', 'link', 'symlink'),
});

export const localModel = s.objectOf({
  id: s.string,
  path: s.string,
  projector: s.orNull(s.string),
  sizeBytes: s.number,
  quantisation: s.orNull(s.string),
  architecture: s.orNull(s.string),
  parameters: s.orNull(s.number),
  contextLength: s.orNull(s.integer),
  capabilities: s.arrayOf(s.oneOf('chat', 'tools', 'vision', 'embeddings')),
  reasoning: reasoningOptions,
  source: listedModel.properties.source,
  canDelete: s.boolean,
  repo: s.orNull(s.string),
  commit: s.orNull(s.string),
});

export const removeReply = s.objectOf({ freed_bytes: s.number });

export type LocalModelShown = s.Static<typeof localModel>;
export type LoadedModel = s.Static<typeof loadedModel>;
export type ListedModel = s.Static<typeof listedModel>;
export type ModelList = s.Static<typeof modelList>;
export type LoadConfig = s.Static<typeof loadConfig>;
export type LoadReply = s.Static<typeof loadReply>;
