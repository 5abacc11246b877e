/** State of the server, the machine and the app. */
import * as s from '../../http/schema/json-schema.js';
import { downloadJob } from './downloads.js';
import { loadConfig, loadedModel, modelName } from './models.js';
import { settings } from './settings.js';

export const port = s.limited(s.integer, { minimum: 0, maximum: 65_535 });

export const serverState = s.objectOf({
  state: s.oneOf('stopped', 'starting', 'running', 'stopping'),
  port: s.integer,
  /** `http://localhost:1234`; `null` unless running. */
  address: s.orNull(s.string),
  model: s.orNull(s.string),
  /** Error of the last start. */
  error: s.orNull(s.string),
});

export const serverStart = s.closedObjectOf({ model: modelName }, { port, config: loadConfig });

export const machine = s.objectOf({
  memoryBytes: s.number,
  freeBytes: s.number,
  cores: s.integer,
  gpus: s.arrayOf(s.objectOf({ name: s.string, memoryBytes: s.orNull(s.number) })),
});

/** A newer version of this program. */
export const newVersion = s.objectOf({
  version: s.string,
  /** Installs it; `null` unless npm has signed it. */
  command: s.orNull(s.string),
});

export const appState = s.objectOf({
  version: s.string,
  update: s.orNull(newVersion),
  server: serverState,
  machine,
  models: s.arrayOf(loadedModel),
  downloads: s.arrayOf(downloadJob),
  settings,
});

export const openingCode = s.objectOf({ code: s.string });

export type OpeningCode = s.Static<typeof openingCode>;
export type ServerState = s.Static<typeof serverState>;
export type Machine = s.Static<typeof machine>;
export type NewVersion = s.Static<typeof newVersion>;
export type AppState = s.Static<typeof appState>;
