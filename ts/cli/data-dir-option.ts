/** `--data-dir` of commands about models, under the heading that their other options have. */
import { HOSTING_OPTIONS } from './hosting-option-table.js';

export const DATA_DIR = { dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Options' } };
