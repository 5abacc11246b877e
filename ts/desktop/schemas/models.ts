/** The models of this computer, in the shapes that LM Studio gives them. */
import { type Static, Type } from 'typebox';

/** No model's name is longer, nor is a path on most systems. */
const MAX_NAME_LENGTH = 4096;

export const modelName = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });

/** Values of load options by their names; what each takes is checked against the table of load options. */
export const loadConfig = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 });

const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

export const loadedModel = Type.Object({
  id: Type.String(),
  /** The key of the model that it was loaded from. */
  model: Type.String(),
  state: Type.Enum(['loading', 'loaded', 'failed']),
  progress: nullable(Type.Number()),
  memoryBytes: nullable(Type.Number()),
  contextLength: nullable(Type.Integer()),
  running: Type.Integer(),
  queued: Type.Integer(),
  /** Unix seconds. */
  expiresAt: nullable(Type.Number()),
  /** Whether it stays whoever else needs room. */
  pinned: Type.Boolean(),
  pid: nullable(Type.Integer()),
  /** Why it failed. */
  reason: nullable(Type.String()),
  config: loadConfig,
});

export const listedModel = Type.Object({
  type: Type.Enum(['llm', 'embedding']),
  publisher: Type.String(),
  key: Type.String(),
  display_name: Type.String(),
  architecture: nullable(Type.String()),
  quantization: nullable(Type.Object({ name: Type.String(), bits_per_weight: nullable(Type.Number()) })),
  size_bytes: Type.Number(),
  params_string: nullable(Type.String()),
  loaded_instances: Type.Array(Type.Object({ id: Type.String(), config: loadConfig })),
  max_context_length: nullable(Type.Integer()),
  format: Type.Literal('gguf'),
  capabilities: Type.Object({ vision: Type.Boolean(), trained_for_tool_use: Type.Boolean() }),
  description: nullable(Type.String()),
  path: Type.String(),
  source: Type.Enum(['hub', 'lmstudio', 'ollama', 'folder', 'builtin']),
  can_delete: Type.Boolean(),
});

export const modelList = Type.Object({ models: Type.Array(listedModel) });

export const loadBody = Type.Object(
  {
    model: modelName,
    config: Type.Optional(loadConfig),
    /** LM Studio's name and place of `config.contextSize`. */
    context_length: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The id of the instance; default: the model's key. */
    identifier: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    /** Seconds that it stays loaded when nobody uses it; 0 is for ever. */
    ttl: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  },
  { additionalProperties: false },
);

export const loadReply = Type.Object({
  type: Type.Enum(['llm', 'embedding']),
  model_instance_id: Type.String(),
  status: Type.Literal('loaded'),
  config: loadConfig,
  load_time_seconds: Type.Number(),
});

export const instanceBody = Type.Object({ instance_id: modelName }, { additionalProperties: false });
export const modelBody = Type.Object({ model: modelName }, { additionalProperties: false });

export const importBody = Type.Object(
  {
    path: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH }),
    how: Type.Enum(['copy', 'link', 'symlink']),
  },
  { additionalProperties: false },
);

export const localModel = Type.Object({
  id: Type.String(),
  path: Type.String(),
  projector: nullable(Type.String()),
  sizeBytes: Type.Number(),
  quantisation: nullable(Type.String()),
  architecture: nullable(Type.String()),
  parameters: nullable(Type.Number()),
  contextLength: nullable(Type.Integer()),
  capabilities: Type.Array(Type.Enum(['chat', 'tools', 'vision', 'embeddings'])),
  source: listedModel.properties.source,
  canDelete: Type.Boolean(),
  repo: nullable(Type.String()),
  commit: nullable(Type.String()),
});

export const removeReply = Type.Object({ freed_bytes: Type.Number() });

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
