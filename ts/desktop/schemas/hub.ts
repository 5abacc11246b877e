/** Hub models, with their state on this computer. */
import {
  anyOf,
  arrayOf,
  boolean,
  exactly,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../http/schema/json-schema.js';
import { modelName } from './models.js';

const capability = oneOf('chat', 'tools', 'vision', 'embeddings');
const badge = oneOf('gpu', 'partly-gpu', 'cpu', 'too-large');

export const fit = objectOf({
  badge,
  needBytes: number,
  haveBytes: number,
  words: string,
});

export const exactFit = objectOf({
  ...fit.properties,
  /** Context length in tokens; `kv` is computed for it. */
  context: integer,
  weights: number,
  kv: number,
  compute: number,
  /** The longest context that fits; 0 if not even the shortest does. */
  contextThatFits: integer,
  /** One entry per GPU, and one with an empty name for main memory. */
  devices: arrayOf(objectOf({ name: string, needBytes: number, haveBytes: number })),
});

const shared = {
  repo: string,
  downloads: number,
  likes: number,
  modifiedAt: orNull(number),
  gated: anyOf(exactly(false), oneOf('auto', 'manual')),
  parameters: orNull(number),
  architecture: orNull(string),
  contextLength: orNull(number),
  capabilities: arrayOf(capability),
};

export const hubSearchQuery = objectOf(
  {},
  {
    text: limited(string, { maxLength: 200 }),
    sort: oneOf('trending', 'downloads', 'likes', 'modified', 'created'),
    author: limited(string, { maxLength: 200 }),
    capability: capability,
    /** A badge, or `fits` for all except too large ones. */
    fit: oneOf('gpu', 'partly-gpu', 'cpu', 'too-large', 'fits'),
    minParameters: limited(number, { minimum: 0, maximum: 1e15 }),
    maxParameters: limited(number, { minimum: 0, maximum: 1e15 }),
    cursor: limited(string, { maxLength: 2000 }),
    limit: limited(integer, { minimum: 1, maximum: 100 }),
  },
);

export const hubPage = objectOf({
  models: arrayOf(
    objectOf({
      ...shared,
      quantisations: arrayOf(string),
      /** For the default quantisation, from its typical size. */
      fit: orNull(fit),
      /** Quantisations on this computer. */
      downloaded: arrayOf(string),
    }),
  ),
  next: orNull(string),
});

export const hubModelQuery = objectOf({ repo: limited(string, { minLength: 1, maxLength: 400 }) });

const hubFile = objectOf({ path: string, sizeBytes: number, sha256: orNull(string) });

export const hubModel = objectOf({
  ...shared,
  commit: string,
  private: boolean,
  licence: orNull(string),
  /** Web page, where access can be requested. */
  page: string,
  /** Whether this llama.cpp supports the architecture; `null` if unknown. */
  isSupported: orNull(boolean),
  quantisations: arrayOf(
    objectOf({
      label: string,
      bitsPerWeight: orNull(number),
      sizeBytes: number,
      files: arrayOf(hubFile),
      projector: orNull(hubFile),
      words: string,
      fit,
      recommended: orNull(oneOf('recommended', 'better')),
      downloaded: boolean,
      /** Predicted from other models on this computer; `null` without data. */
      tokensPerSecond: orNull(number),
    }),
  ),
  files: arrayOf(hubFile),
  readme: orNull(string),
});

export const fitQuery = objectOf(
  {
    /** A local or hub model. */
    model: modelName,
  },
  {
    /** Context length in tokens; default: that of a load. */
    context: limited(integer, { minimum: 16, maximum: 100_000_000 }),
  },
);

export type HubSearchQuery = Static<typeof hubSearchQuery>;
export type HubSearchPage = Static<typeof hubPage>;
export type HubModelPage = Static<typeof hubModel>;
export type Fit = Static<typeof fit>;
export type ExactFit = Static<typeof exactFit>;
export type FitQuery = Static<typeof fitQuery>;
