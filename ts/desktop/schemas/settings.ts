/** What a person sets once. */
import { type Static, Type } from 'typebox';
import { loadConfig } from './models.js';

const folder = Type.String({ minLength: 1, maxLength: 4096 });

const shared = {
  theme: Type.Enum(['system', 'light', 'dark']),
  /** Of the server that Start Server opens. */
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  startServerAtLaunch: Type.Boolean(),
  startAtLogin: Type.Boolean(),
  /** Folders of models, beside those of the Hugging Face cache, LM Studio and Ollama. */
  modelFolders: Type.Array(folder, { maxItems: 50 }),
  /** Default: what the environment says, or else the Hugging Face hub. */
  hubEndpoint: Type.Union([Type.String({ pattern: '^https?://', maxLength: 500 }), Type.Null()]),
  preventSleep: Type.Boolean(),
  logPrompts: Type.Boolean(),
  /** Seconds that a model stays loaded when nobody uses it; 0 is for ever. */
  ttl: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  /** How long models stay for which something else holds: seconds, 0 for ever, or `pinned`, whoever else needs room. */
  modelKeeps: Type.Record(
    Type.String({ maxLength: 4096 }),
    Type.Union([Type.Integer({ minimum: 0, maximum: 1_000_000 }), Type.Literal('pinned')]),
    { maxProperties: 1000 },
  ),
  /** The model that the server was started with last. */
  lastModel: Type.Union([Type.String({ maxLength: 4096 }), Type.Null()]),
  /** Load options by model. */
  modelDefaults: Type.Record(Type.String({ maxLength: 4096 }), loadConfig, { maxProperties: 1000 }),
};

/** As it is shown: whether there is a token of the hub, not which. */
export const settings = Type.Object({ ...shared, hasHubToken: Type.Boolean() });

/** Any part of it. */
export const settingsChange = Type.Partial(
  Type.Object({ ...shared, hubToken: Type.Union([Type.String({ minLength: 1, maxLength: 500 }), Type.Null()]) }),
  { additionalProperties: false },
);

export type Settings = Static<typeof settings>;
export type SettingsChange = Static<typeof settingsChange>;
