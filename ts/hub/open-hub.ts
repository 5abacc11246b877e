/** The hub client and the local model library, with the settings from the environment. */
import path from 'node:path';
import { HubClient } from './hub-client.js';
import { type HubSettings, hubSettings } from './hub-settings.js';
import { Library } from './library.js';
import { libraryPlaces } from './library-places.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface HubContext {
  settings: HubSettings;
  client: HubClient;
  library: Library;
  /** Holds imported models. */
  importFolder: string;
}

export function openHub(dataFolder: string, environment: Environment): HubContext {
  const settings = hubSettings(environment);
  const importFolder = path.join(dataFolder, 'models');
  return {
    settings,
    client: new HubClient(settings),
    library: new Library({ ...libraryPlaces(environment, settings.cacheFolder, []), importFolder }),
    importFolder,
  };
}
