/** Options of `chasqui desktop`; everything else is set in the app. */
import { APP_PORT } from '../../desktop/ports.js';
import {
  inGroup,
  integer,
  type OptionRows,
  type OptionsOf,
  off,
  on,
  text,
  type UngroupedRows,
} from '../../options/option-row.js';
import { desktop } from '../../profiles/desktop.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';
import { UPDATE_OPTIONS } from './update-option-table.js';

const WINDOW_OPTIONS = inGroup('Window', {
  open: {
    ...on,
    help: 'Open a window; --no-open prints the address of the app, with its token, as the last line',
    otherwise: 'on if there is a display',
  },
  json: { ...off, variable: 'CHASQUI_DESKTOP_JSON', help: 'Print one line of JSON with the address as `url`' },
  install: {
    ...off,
    variable: 'CHASQUI_DESKTOP_INSTALL',
    help: 'Add the app to the application menu of this Linux desktop and exit; --no-install removes it',
    otherwise: 'neither',
  },
} as const satisfies UngroupedRows);

const SERVER_OPTIONS = inGroup('Server', {
  startServer: { ...off, help: 'Start the server immediately, like Start Server', otherwise: 'the setting of the app' },
  model: {
    ...text('name'),
    short: '-m',
    help: 'Model to start the server with: its name in the app, or a GGUF file',
    otherwise: 'the last one used, or the first',
  },
  shutdownTimeout: { ...HOSTING_OPTIONS.shutdownTimeout },
} as const satisfies UngroupedRows);

const PORT_OPTIONS = inGroup('Ports', {
  appPort: {
    ...integer(0, 65_535),
    help: 'Port of the app window; 0 picks a free port',
    otherwise: `${APP_PORT}, or the next free port`,
  },
  port: {
    ...integer(0, 65_535),
    short: '-p',
    foreign: HOSTING_OPTIONS.port.foreign,
    help: 'Port of the server that Start Server starts; 0 picks a free port',
    otherwise: `the setting of the app, or ${desktop.port}`,
  },
} as const satisfies UngroupedRows);

export const DESKTOP_OPTIONS = {
  ...WINDOW_OPTIONS,
  ...PORT_OPTIONS,
  ...SERVER_OPTIONS,
  ...UPDATE_OPTIONS,
  dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Data', help: 'Data folder: settings, chats, logs' },
} as const satisfies OptionRows;

export interface DesktopOptions extends OptionsOf<typeof DESKTOP_OPTIONS> {}
