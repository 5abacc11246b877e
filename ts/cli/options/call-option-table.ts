/** Options of `chasqui serve` about one call: not part of a configuration file. */
import { inGroup, off, type UngroupedRows } from '../../options/option-row.js';

const SERVER_OPTIONS = inGroup('Server', {
  config: {
    type: 'path',
    help: 'YAML file with options by their flags, such as ctx-size: 8192; flags and variables take precedence',
    otherwise: 'none',
  },
  printConfig: { ...off, help: 'Print all options as a file for `config`, and exit' },
  background: {
    ...off,
    help: 'Start the server as a background process, and exit when it is ready; see chasqui status, logs and stop',
  },
  json: {
    ...off,
    variable: 'CHASQUI_SERVE_JSON',
    help: 'Print the address and the process as JSON, with `background`',
  },
} as const satisfies UngroupedRows);

const GPU_OPTIONS = inGroup('GPUs', {
  listDevices: { ...off, help: 'Print the GPUs that chasqui doctor finds, and exit' },
} as const satisfies UngroupedRows);

export const CALL_OPTIONS = { ...SERVER_OPTIONS, ...GPU_OPTIONS };
