/** State of the server, the machine and the app. */
import {
  arrayOf,
  closedObjectOf,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../http/schema/json-schema.js';
import { downloadJob } from './downloads.js';
import { loadConfig, loadedModel, modelName } from './models.js';
import { settings } from './settings.js';

export const port = limited(integer, { minimum: 0, maximum: 65_535 });

export const serverState = objectOf({
  state: oneOf('stopped', 'starting', 'running', 'stopping'),
  port: integer,
  /** `http://localhost:1234`; `null` unless running. */
  address: orNull(string),
  model: orNull(string),
  /** Error of the last start. */
  error: orNull(string),
});

export const serverStart = closedObjectOf({ model: modelName }, { port, config: loadConfig });

export const machine = objectOf({
  memoryBytes: number,
  freeBytes: number,
  cores: integer,
  gpus: arrayOf(objectOf({ name: string, memoryBytes: orNull(number) })),
});

export const appState = objectOf({
  version: string,
  server: serverState,
  machine,
  models: arrayOf(loadedModel),
  downloads: arrayOf(downloadJob),
  settings,
});

export const openingCode = objectOf({ code: string });

export type OpeningCode = Static<typeof openingCode>;
export type ServerState = Static<typeof serverState>;
export type ServerStart = Static<typeof serverStart>;
export type Machine = Static<typeof machine>;
export type AppState = Static<typeof appState>;
