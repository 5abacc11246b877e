/** Hub models, with their state on this computer. */
import * as s from '../../http/schema/json-schema.js';
import { modelName } from './models.js';

const capability = s.oneOf('chat', 'tools', 'vision', 'embeddings');
const badge = s.oneOf('gpu', 'partly-gpu', 'cpu', 'too-large');

export const fit = s.objectOf({
  badge,
  needBytes: s.number,
  haveBytes: s.number,
  words: s.string,
});

/** Estimated for this computer; `null` if that is not possible. */
const tokensPerSecond = s.orNull(s.number);

export const exactFit = s.objectOf({
  ...fit.properties,
  tokensPerSecond,
  /** Context length in tokens; `kv` is computed for it. */
  context: s.integer,
  weights: s.number,
  kv: s.number,
  compute: s.number,
  /** The longest context that fits; 0 if not even the shortest does. */
  contextThatFits: s.integer,
  /** One entry per GPU, and one with an empty name for main memory. */
  devices: s.arrayOf(s.objectOf({ name: s.string, needBytes: s.number, haveBytes: s.number })),
});

const shared = {
  repo: s.string,
  downloads: s.number,
  likes: s.number,
  modifiedAt: s.orNull(s.number),
  gated: s.anyOf(s.exactly(false), s.oneOf('auto', 'manual')),
  parameters: s.orNull(s.number),
  architecture: s.orNull(s.string),
  contextLength: s.orNull(s.number),
  capabilities: s.arrayOf(capability),
};

export const hubSearchQuery = s.objectOf(
  {},
  {
    text: s.limited(s.string, { maxLength: 200 }),
    sort: s.oneOf('trending', 'downloads', 'likes', 'modified', 'created'),
    author: s.limited(s.string, { maxLength: 200 }),
    capability: capability,
    /** A badge, or `fits` for all except too large ones. */
    fit: s.oneOf('gpu', 'partly-gpu', 'cpu', 'too-large', 'fits'),
    minParameters: s.limited(s.number, { minimum: 0, maximum: 1e15 }),
    maxParameters: s.limited(s.number, { minimum: 0, maximum: 1e15 }),
    cursor: s.limited(s.string, { maxLength: 2000 }),
    limit: s.limited(s.integer, { minimum: 1, maximum: 100 }),
  },
);

export const hubPage = s.objectOf({
  models: s.arrayOf(
    s.objectOf({
      ...shared,
      quantisations: s.arrayOf(s.string),
      /** For the default quantisation, from its typical size. */
      fit: s.orNull(fit),
      tokensPerSecond,
      /** Quantisations on this computer. */
      downloaded: s.arrayOf(s.string),
    }),
  ),
  next: s.orNull(s.string),
});

export const hubModelQuery = s.objectOf({ repo: s.limited(s.string, { minLength: 1, maxLength: 400 }) });

const hubFile = s.objectOf({ path: s.string, sizeBytes: s.number, sha256: s.orNull(s.string) });

export const hubModel = s.objectOf({
  ...shared,
  commit: s.string,
  private: s.boolean,
  licence: s.orNull(s.string),
  /** Web page, where access can be requested. */
  page: s.string,
  /** Whether this llama.cpp supports the architecture; `null` if unknown. */
  isSupported: s.orNull(s.boolean),
  quantisations: s.arrayOf(
    s.objectOf({
      label: s.string,
      bitsPerWeight: s.orNull(s.number),
      sizeBytes: s.number,
      files: s.arrayOf(hubFile),
      projector: s.orNull(hubFile),
      words: s.string,
      fit,
      recommended: s.orNull(s.oneOf('recommended', 'better')),
      downloaded: s.boolean,
      tokensPerSecond,
    }),
  ),
  files: s.arrayOf(hubFile),
  readme: s.orNull(s.string),
});

export const fitQuery = s.objectOf(
  {
    /** A local or hub model. */
    model: modelName,
  },
  {
    /** Context length in tokens; default: that of a load. */
    context: s.limited(s.integer, { minimum: 16, maximum: 100_000_000 }),
  },
);

export type HubSearchQuery = s.Static<typeof hubSearchQuery>;
export type HubSearchPage = s.Static<typeof hubPage>;
export type HubModelPage = s.Static<typeof hubModel>;
export type Fit = s.Static<typeof fit>;
export type ExactFit = s.Static<typeof exactFit>;
