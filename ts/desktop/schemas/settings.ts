/** User settings, and rows of the table of load options. */
import * as s from '../../http/schema/json-schema.js';
import { chatSettings } from './chats.js';
import { loadConfig } from './models.js';

const folder = s.limited(s.string, { minLength: 1, maxLength: 4096 });

const byModel = <T>(values: s.Schema<T>) =>
  s.limited(s.recordOf(values), { maxProperties: 1000, propertyNames: { maxLength: 4096 } });

const presetName = s.limited(s.string, { minLength: 1, maxLength: 100 });

/** A named system prompt, with the settings that a chat may have. */
export const preset = s.closedObjectOf({
  name: presetName,
  systemPrompt: s.limited(s.string, { maxLength: 2 ** 16 }),
  settings: chatSettings,
});

const shared = {
  theme: s.oneOf('system', 'light', 'dark'),
  /** Language of the pages; `null`: that of the browser. */
  language: s.orNull(s.oneOf('en', 'de', 'es', 'fr', 'pt', 'ja', 'zh')),
  port: s.limited(s.integer, { minimum: 1, maximum: 65_535 }),
  startServerAtLaunch: s.boolean,
  startAtLogin: s.boolean,
  /** Model folders, in addition to the Hugging Face cache, LM Studio and Ollama. */
  modelFolders: s.limited(s.arrayOf(folder), { maxItems: 50 }),
  /** Default: from the environment, or the Hugging Face hub. */
  hubEndpoint: s.orNull(s.limited(s.string, { pattern: '^https?://', maxLength: 500 })),
  preventSleep: s.boolean,
  logPrompts: s.boolean,
  /** Whether models write the titles of chats. */
  generateTitles: s.boolean,
  /** Whether the app looks for newer versions of itself. */
  checkForUpdates: s.boolean,
  /** Tools of chats that run without a question. */
  allowedTools: s.limited(s.arrayOf(s.limited(s.string, { maxLength: 223 })), { maxItems: 1000 }),
  /** Idle seconds before a model is unloaded; 0: never. */
  ttl: s.limited(s.integer, { minimum: 0, maximum: 1_000_000 }),
  /** Overrides of `ttl` by model: seconds, 0 for never, or `pinned` to prevent eviction. */
  modelKeeps: byModel(s.anyOf(s.limited(s.integer, { minimum: 0, maximum: 1_000_000 }), s.exactly('pinned'))),
  /** Model of the last start of the server. */
  lastModel: s.orNull(s.limited(s.string, { maxLength: 4096 })),
  modelDefaults: byModel(loadConfig),
  presets: s.limited(s.arrayOf(preset), { maxItems: 200 }),
  /** The preset of new chats, by model. */
  modelPresets: byModel(presetName),
};

/** Settings as shown, with flags in place of secrets. */
export const settings = s.objectOf({
  ...shared,
  hasHubToken: s.boolean,
  hubTokenEndpoint: s.orNull(s.string),
  /** Whether clients of the server need a key, from its next start. */
  hasServerKey: s.boolean,
});

/** A partial update. */
export const settingsChange = s.closedObjectOf(
  {},
  {
    ...shared,
    hubToken: s.orNull(s.limited(s.string, { minLength: 1, maxLength: 500 })),
    /** API key of the server; `null`: none. */
    serverKey: s.orNull(s.limited(s.string, { pattern: '^[\\x21-\\x7e]+$', maxLength: 200 })),
  },
);

export type Preset = s.Static<typeof preset>;
export type Settings = s.Static<typeof settings>;
export type SettingsChange = s.Static<typeof settingsChange>;

export const optionRow = s.objectOf({
  name: s.string,
  flag: s.orNull(s.string),
  type: s.oneOf('boolean', 'integer', 'number', 'string', 'path', 'choice', 'names', 'paths', 'texts', 'shares'),
  default: s.anything,
  minimum: s.orNull(s.number),
  maximum: s.orNull(s.number),
  unit: s.orNull(s.string),
  choices: s.orNull(s.arrayOf(s.string)),
  nullable: s.boolean,
  help: s.string,
  /** Description of the default. */
  otherwise: s.orNull(s.string),
  group: s.string,
});

export const optionList = s.objectOf({ options: s.arrayOf(optionRow) });

export type OptionForm = s.Static<typeof optionRow>;
