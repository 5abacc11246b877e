/** Models of the hub, with what is known of them on this computer. */
import { type Static, Type } from 'typebox';
import { modelName } from './models.js';

const nullableNumber = Type.Union([Type.Number(), Type.Null()]);
const nullableText = Type.Union([Type.String(), Type.Null()]);
const capability = Type.Enum(['chat', 'tools', 'vision', 'embeddings']);
const badge = Type.Enum(['gpu', 'partly-gpu', 'cpu', 'too-large']);

export const fit = Type.Object({
  badge,
  needBytes: Type.Number(),
  haveBytes: Type.Number(),
  words: Type.String(),
});

export const exactFit = Type.Object({
  ...fit.properties,
  /** Tokens of one conversation that `kv` is for. */
  context: Type.Integer(),
  weights: Type.Number(),
  kv: Type.Number(),
  compute: Type.Number(),
  /** The longest context that fits; 0: not even the shortest does. */
  contextThatFits: Type.Integer(),
  /** Of each GPU, and of main memory, whose name is empty. */
  devices: Type.Array(Type.Object({ name: Type.String(), needBytes: Type.Number(), haveBytes: Type.Number() })),
});

const shared = {
  repo: Type.String(),
  downloads: Type.Number(),
  likes: Type.Number(),
  modifiedAt: nullableNumber,
  gated: Type.Union([Type.Literal(false), Type.Literal('auto'), Type.Literal('manual')]),
  parameters: nullableNumber,
  architecture: nullableText,
  contextLength: nullableNumber,
  capabilities: Type.Array(capability),
};

export const hubSearchQuery = Type.Object({
  text: Type.Optional(Type.String({ maxLength: 200 })),
  sort: Type.Optional(Type.Enum(['trending', 'downloads', 'likes', 'modified', 'created'])),
  author: Type.Optional(Type.String({ maxLength: 200 })),
  capability: Type.Optional(capability),
  /** A badge, or `fits` for all but those that are too large. */
  fit: Type.Optional(Type.Enum(['gpu', 'partly-gpu', 'cpu', 'too-large', 'fits'])),
  minParameters: Type.Optional(Type.Number({ minimum: 0, maximum: 1e15 })),
  maxParameters: Type.Optional(Type.Number({ minimum: 0, maximum: 1e15 })),
  cursor: Type.Optional(Type.String({ maxLength: 2000 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
});

export const hubPage = Type.Object({
  models: Type.Array(
    Type.Object({
      ...shared,
      quantisations: Type.Array(Type.String()),
      /** Of the quantisation that would be chosen, from its usual size. */
      fit: Type.Union([fit, Type.Null()]),
      /** Quantisations that are on this computer. */
      downloaded: Type.Array(Type.String()),
    }),
  ),
  next: nullableText,
});

export const hubModelQuery = Type.Object({ repo: Type.String({ minLength: 1, maxLength: 400 }) });

const hubFile = Type.Object({ path: Type.String(), sizeBytes: Type.Number(), sha256: nullableText });

export const hubModel = Type.Object({
  ...shared,
  commit: Type.String(),
  private: Type.Boolean(),
  licence: nullableText,
  /** Where people read about it, and ask for access. */
  page: Type.String(),
  /** Whether this llama.cpp knows the architecture; `null` where the hub does not say which it is. */
  isSupported: Type.Union([Type.Boolean(), Type.Null()]),
  quantisations: Type.Array(
    Type.Object({
      label: Type.String(),
      bitsPerWeight: nullableNumber,
      sizeBytes: Type.Number(),
      files: Type.Array(hubFile),
      projector: Type.Union([hubFile, Type.Null()]),
      words: Type.String(),
      fit,
      recommended: Type.Union([Type.Literal('recommended'), Type.Literal('better'), Type.Null()]),
      downloaded: Type.Boolean(),
      /** Learned from other models that were run here; `null` before any was. */
      tokensPerSecond: nullableNumber,
    }),
  ),
  files: Type.Array(hubFile),
  readme: nullableText,
});

export const fitQuery = Type.Object({
  /** Of this computer or of the hub. */
  model: modelName,
  /** Tokens of one conversation; default: as the model would be loaded. */
  context: Type.Optional(Type.Integer({ minimum: 16, maximum: 100_000_000 })),
});

export type HubSearchQuery = Static<typeof hubSearchQuery>;
export type HubSearchPage = Static<typeof hubPage>;
export type HubModelPage = Static<typeof hubModel>;
export type Fit = Static<typeof fit>;
export type ExactFit = Static<typeof exactFit>;
export type FitQuery = Static<typeof fitQuery>;
