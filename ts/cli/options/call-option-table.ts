/** Options of `chasqui serve` about one call: not part of a configuration file. */
import { type OptionRows, off } from '../../options/option-row.js';

export const CALL_OPTIONS = {
  config: {
    type: 'path',
    flag: '--config',
    group: 'Server',
    help: 'YAML file with options by their flags, such as ctx-size: 8192; flags and variables take precedence',
    otherwise: 'none',
  },
  printConfig: {
    ...off,
    flag: '--print-config',
    group: 'Server',
    help: 'Print all options as a file for `config`, and exit',
    otherwise: 'off',
  },
  listDevices: {
    ...off,
    flag: '--list-devices',
    group: 'GPUs',
    help: 'Print the GPUs that chasqui doctor finds, and exit',
    otherwise: 'off',
  },
  background: {
    ...off,
    flag: '--background',
    group: 'Server',
    help: 'Start the server as a background process, and exit when it is ready; see chasqui status, logs and stop',
    otherwise: 'off',
  },
  json: {
    ...off,
    flag: '--json',
    variable: 'CHASQUI_SERVE_JSON',
    group: 'Server',
    help: 'Print the address and the process as JSON, with `background`',
    otherwise: 'off',
  },
} as const satisfies OptionRows;
