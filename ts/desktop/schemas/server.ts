/** The server of the Developer view, the machine, and what fills the app's first paint. */
import { type Static, Type } from 'typebox';
import { downloadJob } from './downloads.js';
import { loadConfig, loadedModel, modelName } from './models.js';
import { settings } from './settings.js';

export const port = Type.Integer({ minimum: 0, maximum: 65_535 });

export const serverState = Type.Object({
  state: Type.Enum(['stopped', 'starting', 'running', 'stopping']),
  port: Type.Integer(),
  /** `http://localhost:1234`; `null` while it does not run. */
  address: Type.Union([Type.String(), Type.Null()]),
  /** The model that any name means. */
  model: Type.Union([Type.String(), Type.Null()]),
  /** Why it could not be started the last time. */
  error: Type.Union([Type.String(), Type.Null()]),
});

export const serverStart = Type.Object(
  { model: modelName, port: Type.Optional(port), config: Type.Optional(loadConfig) },
  { additionalProperties: false },
);

export const machine = Type.Object({
  memoryBytes: Type.Number(),
  freeBytes: Type.Number(),
  cores: Type.Integer(),
  gpus: Type.Array(Type.Object({ name: Type.String(), memoryBytes: Type.Union([Type.Number(), Type.Null()]) })),
});

export const appState = Type.Object({
  version: Type.String(),
  server: serverState,
  machine,
  models: Type.Array(loadedModel),
  downloads: Type.Array(downloadJob),
  settings,
});

export type ServerState = Static<typeof serverState>;
export type ServerStart = Static<typeof serverStart>;
export type Machine = Static<typeof machine>;
export type AppState = Static<typeof appState>;
