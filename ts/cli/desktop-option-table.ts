/** What `chasqui desktop` needs to know; everything else is set in the app. */
import { APP_PORT } from '../desktop/ports.js';
import type { OptionRows, OptionsOf } from '../options/option-row.js';
import { desktop } from '../profiles/desktop.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

export const DESKTOP_OPTIONS = {
  open: {
    type: 'boolean',
    default: true,
    flag: '--open',
    group: 'Window',
    help: 'open a window; --no-open: print the address of the app, with its token, as the last line',
    otherwise: 'on, where there is a display',
  },
  json: {
    type: 'boolean',
    default: false,
    flag: '--json',
    variable: 'CHASQUI_DESKTOP_JSON',
    group: 'Window',
    help: 'print a line of JSON with the address, as `url`',
  },
  install: {
    type: 'boolean',
    default: false,
    flag: '--install',
    variable: 'CHASQUI_DESKTOP_INSTALL',
    group: 'Window',
    help: 'put the app among the programs of this Linux desktop, and end; --no-install: take it away',
    otherwise: 'neither',
  },
  appPort: {
    type: 'integer',
    min: 0,
    max: 65_535,
    flag: '--app-port',
    group: 'Ports',
    help: "port of the app's own pages; 0 for any free one",
    otherwise: `${APP_PORT}, or the next one that is free`,
  },
  port: {
    type: 'integer',
    min: 0,
    max: 65_535,
    flag: '--port',
    short: '-p',
    foreign: HOSTING_OPTIONS.port.foreign,
    group: 'Ports',
    help: 'port of the server that Start Server opens; 0 for any free one',
    otherwise: `what is set in the app, or else ${desktop.port}`,
  },
  startServer: {
    type: 'boolean',
    default: false,
    flag: '--start-server',
    group: 'Server',
    help: 'start the server at once, as Start Server does',
    otherwise: 'what is set in the app',
  },
  model: {
    type: 'string',
    flag: '--model',
    short: '-m',
    placeholder: 'name',
    group: 'Server',
    help: 'the model that the server is started with: its name in the app, or a GGUF file',
    otherwise: 'the last one, or else the first',
  },
  shutdownTimeout: { ...HOSTING_OPTIONS.shutdownTimeout, group: 'Server' },
  dataDir: {
    ...HOSTING_OPTIONS.dataDir,
    group: 'Data',
    help: 'folder of what the app keeps: settings, chats, logs',
  },
} as const satisfies OptionRows;

export interface DesktopOptions extends OptionsOf<typeof DESKTOP_OPTIONS> {}
