/** User settings, and rows of the table of load options. */
import {
  anyOf,
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
  port: limited(integer, { minimum: 1, maximum: 65_535 }),
  startServerAtLaunch: boolean,
  startAtLogin: boolean,
  /** Model folders, in addition to the Hugging Face cache, LM Studio and Ollama. */
  modelFolders: limited(arrayOf(folder), { maxItems: 50 }),
  /** Default: from the environment, or the Hugging Face hub. */
  hubEndpoint: orNull(limited(string, { pattern: '^https?://', maxLength: 500 })),
  preventSleep: boolean,
  logPrompts: boolean,
  /** Idle seconds before a model is unloaded; 0: never. */
  ttl: limited(integer, { minimum: 0, maximum: 1_000_000 }),
  /** Overrides of `ttl` by model: seconds, 0 for never, or `pinned` to prevent eviction. */
  modelKeeps: byModel(anyOf(limited(integer, { minimum: 0, maximum: 1_000_000 }), exactly('pinned'))),
  /** Model of the last start of the server. */
  lastModel: orNull(limited(string, { maxLength: 4096 })),
  modelDefaults: byModel(loadConfig),
};

/** Settings as shown, with flags in place of secrets. */
export const settings = objectOf({
  ...shared,
  hasHubToken: boolean,
  hubTokenEndpoint: orNull(string),
  /** Whether clients of the server need a key, from its next start. */
  hasServerKey: boolean,
});

/** A partial update. */
export const settingsChange = closedObjectOf(
  {},
  {
    ...shared,
    hubToken: orNull(limited(string, { minLength: 1, maxLength: 500 })),
    /** API key of the server; `null`: none. */
    serverKey: orNull(limited(string, { pattern: '^[\\x21-\\x7e]+$', maxLength: 200 })),
  },
);

export type Settings = Static<typeof settings>;
export type SettingsChange = Static<typeof settingsChange>;

export const optionRow = objectOf({
  name: string,
  flag: orNull(string),
  type: oneOf('boolean', 'integer', 'number', 'string', 'path', 'choice', 'names', 'paths', 'texts', 'shares'),
  default: anything,
  minimum: orNull(number),
  maximum: orNull(number),
  unit: orNull(string),
  choices: orNull(arrayOf(string)),
  nullable: boolean,
  help: string,
  /** Description of the default. */
  otherwise: orNull(string),
  group: string,
});

export const optionList = objectOf({ options: arrayOf(optionRow) });

export type OptionForm = Static<typeof optionRow>;
