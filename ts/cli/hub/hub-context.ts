/** The hub client and the local model library, with the settings from the environment. */
import path from 'node:path';
import { HubClient } from '../../hub/hub-client.js';
import { type HubSettings, hubSettings } from '../../hub/hub-settings.js';
import { Library } from '../../hub/library.js';
import { libraryPlaces } from '../../hub/library-places.js';
import { DATA_DIR } from '../options/hosting-option-table.js';
import { givenOptions } from '../options/table-options.js';
import { dataDir } from '../paths.js';

export interface HubContext {
  settings: HubSettings;
  client: HubClient;
  library: Library;
  /** Holds imported models. */
  importFolder: string;
}

export function hubContext(given: string | undefined): HubContext {
  const folder = dataDir(givenOptions(DATA_DIR, { ...(given !== undefined && { dataDir: given }) }).dataDir);
  const settings = hubSettings(process.env);
  const importFolder = path.join(folder, 'models');
  return {
    settings,
    client: new HubClient(settings),
    library: new Library({ ...libraryPlaces(process.env, settings.cacheFolder, []), importFolder }),
    importFolder,
  };
}
