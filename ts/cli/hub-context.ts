/** The hub client and the local model library, with the settings from the environment. */
import path from 'node:path';
import { HubClient } from '../hub/hub-client.js';
import { type HubSettings, hubSettings } from '../hub/hub-settings.js';
import { Library } from '../hub/library.js';
import { libraryPlaces } from '../hub/library-places.js';
import { dataDir } from './data-dir.js';
import { DATA_DIR } from './data-dir-option.js';
import { givenOptions } from './table-options.js';

export interface HubContext {
  settings: HubSettings;
  client: HubClient;
  library: Library;
}

export function hubContext(given: string | undefined): HubContext {
  const folder = dataDir(givenOptions(DATA_DIR, { ...(given !== undefined && { dataDir: given }) }).dataDir);
  const settings = hubSettings(process.env);
  const importFolder = path.join(folder, 'models');
  return {
    settings,
    client: new HubClient(settings),
    library: new Library({ ...libraryPlaces(process.env, settings.cacheFolder, []), importFolder }),
  };
}
