/** Models of the hub, with what is known of them on this computer. */
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
  /** Tokens of one conversation that `kv` is for. */
  context: integer,
  weights: number,
  kv: number,
  compute: number,
  /** The longest context that fits; 0: not even the shortest does. */
  contextThatFits: integer,
  /** Of each GPU, and of main memory, whose name is empty. */
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
    /** A badge, or `fits` for all but those that are too large. */
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
      /** Of the quantisation that would be chosen, from its usual size. */
      fit: orNull(fit),
      /** Quantisations that are on this computer. */
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
  /** Where people read about it, and ask for access. */
  page: string,
  /** Whether this llama.cpp knows the architecture; `null` where the hub does not say which it is. */
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
      /** Learned from other models that were run here; `null` before any was. */
      tokensPerSecond: orNull(number),
    }),
  ),
  files: arrayOf(hubFile),
  readme: orNull(string),
});

export const fitQuery = objectOf(
  {
    /** Of this computer or of the hub. */
    model: modelName,
  },
  {
    /** Tokens of one conversation; default: as the model would be loaded. */
    context: limited(integer, { minimum: 16, maximum: 100_000_000 }),
  },
);

export type HubSearchQuery = Static<typeof hubSearchQuery>;
export type HubSearchPage = Static<typeof hubPage>;
export type HubModelPage = Static<typeof hubModel>;
export type Fit = Static<typeof fit>;
export type ExactFit = Static<typeof exactFit>;
export type FitQuery = Static<typeof fitQuery>;
