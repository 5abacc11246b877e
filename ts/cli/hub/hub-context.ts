/** The hub and the local models of a command with `--data-dir`. */
import { dataDir } from '../../hub/data-folder.js';
import { type HubContext, openHub } from '../../hub/open-hub.js';
import { DATA_DIR } from '../options/hosting-option-table.js';
import { givenOptions } from '../options/table-options.js';

export type { HubContext };

export function hubContext(given: string | undefined): HubContext {
  return openHub(
    dataDir(givenOptions(DATA_DIR, { ...(given !== undefined && { dataDir: given }) }).dataDir),
    process.env,
  );
}
