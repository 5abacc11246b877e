/** What a person sets once. */
import {
  anyOf,
  arrayOf,
  boolean,
  closedObjectOf,
  exactly,
  integer,
  limited,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Schema,
  type Static,
  string,
} from '../../http/schema/json-schema.js';
import { loadConfig } from './models.js';

const folder = limited(string, { minLength: 1, maxLength: 4096 });

const byModel = <T>(values: Schema<T>) =>
  limited(recordOf(values), { maxProperties: 1000, propertyNames: { maxLength: 4096 } });

const shared = {
  theme: oneOf('system', 'light', 'dark'),
  /** Of the server that Start Server opens. */
  port: limited(integer, { minimum: 1, maximum: 65_535 }),
  startServerAtLaunch: boolean,
  startAtLogin: boolean,
  /** Folders of models, beside those of the Hugging Face cache, LM Studio and Ollama. */
  modelFolders: limited(arrayOf(folder), { maxItems: 50 }),
  /** Default: what the environment says, or else the Hugging Face hub. */
  hubEndpoint: orNull(limited(string, { pattern: '^https?://', maxLength: 500 })),
  preventSleep: boolean,
  logPrompts: boolean,
  /** Seconds that a model stays loaded when nobody uses it; 0 is for ever. */
  ttl: limited(integer, { minimum: 0, maximum: 1_000_000 }),
  /** How long models stay for which something else holds: seconds, 0 for ever, or `pinned`, whoever else needs room. */
  modelKeeps: byModel(anyOf(limited(integer, { minimum: 0, maximum: 1_000_000 }), exactly('pinned'))),
  /** The model that the server was started with last. */
  lastModel: orNull(limited(string, { maxLength: 4096 })),
  /** Load options by model. */
  modelDefaults: byModel(loadConfig),
};

/** As it is shown: whether there is a token of the hub, not which. */
export const settings = objectOf({
  ...shared,
  hasHubToken: boolean,
  /** The address of the hub that the token is for: no other is sent it. */
  hubTokenEndpoint: orNull(string),
  /** Whether clients of the server need a key, from its next start on. */
  hasServerKey: boolean,
});

/** Any part of it. */
export const settingsChange = closedObjectOf(
  {},
  {
    ...shared,
    hubToken: orNull(limited(string, { minLength: 1, maxLength: 500 })),
    /** What clients of the server have to send as their API key; `null`: nothing. */
    serverKey: orNull(limited(string, { pattern: '^[\\x21-\\x7e]+$', maxLength: 200 })),
  },
);

export type Settings = Static<typeof settings>;
export type SettingsChange = Static<typeof settingsChange>;
