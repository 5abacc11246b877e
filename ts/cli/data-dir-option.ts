/** `--data-dir` of the model commands, in the same help group as their other options. */
import { HOSTING_OPTIONS } from './hosting-option-table.js';

export const DATA_DIR = { dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Options' } };
