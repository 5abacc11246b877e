/** What the commands about models on the hub and on this computer have in common. */
import path from 'node:path';
import { Command } from 'commander';
import { HubClient } from '../hub/hub-client.js';
import { type HubSettings, hubSettings } from '../hub/hub-settings.js';
import { Library } from '../hub/library.js';
import { libraryPlaces } from '../hub/library-places.js';
import { dataDir } from './data-dir.js';
import { explainFailure } from './explain-failure.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';
import { addTableOptions, givenOptions } from './table-options.js';

/** The option of `chasqui serve`, under the heading that the others here have. */
const DATA_DIR = { dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Options' } };

export const HUB_HELP = `
HF_TOKEN holds a token of your account at the hub, for models that need one;
HF_ENDPOINT names another hub; HF_HOME and HF_HUB_CACHE say where models are
kept. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are heeded.`;

export interface HubCommandOptions {
  dataDir?: string;
  json?: boolean;
}

export interface HubContext {
  settings: HubSettings;
  client: HubClient;
  library: Library;
}

export function hubCommand(name: string, description: string): Command {
  return addTableOptions(new Command(name), DATA_DIR)
    .description(description)
    .option('--json', 'print JSON, for programs')
    .helpOption('-h, --help', 'explain the options');
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

/** Prints what `action` returns. */
export async function withHub(
  options: HubCommandOptions,
  action: (context: HubContext) => Promise<string>,
): Promise<void> {
  try {
    const context = hubContext(options.dataDir);
    try {
      console.log(await action(context));
    } finally {
      await context.client.close();
    }
  } catch (error) {
    console.error(`chasqui: ${explainFailure(error)}`);
    process.exitCode = 1;
  }
}
