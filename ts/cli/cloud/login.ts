/** `chasqui login`: selects the cloud of the other commands. */
import { Command } from 'commander';
import { invalidOptions } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import { addTableOptions, givenOptions } from '../options/table-options.js';
import { CloudClient, writeLogin } from './client.js';
import { DATA_DIR_OPTION, JSON_OPTION, KEY_OPTION } from './option-table.js';
import { ended, printJson, withHelp } from './outcome.js';
import { readInput } from './read-input.js';

const LOGIN_OPTIONS = { ...KEY_OPTION, ...DATA_DIR_OPTION, ...JSON_OPTION };

export function loginCommand(): Command {
  const command = withHelp(new Command('login'))
    .description('Save the address and API key of a cloud. A cloud on this machine needs no login.')
    .argument('<url>', 'Address of the cloud')
    .action((url: string, parsed: Readonly<Record<string, unknown>>) => ended(() => login(url, parsed)));
  return addTableOptions(command, LOGIN_OPTIONS);
}

async function login(given: string, parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const options = givenOptions(LOGIN_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
  const url = given.replace(/\/+$/, '');
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw invalidOptions(`${given} is not the address of a cloud, such as https://cloud.example.`);
  }
  const key = options.key ?? (await readInput());
  const { org } = await CloudClient.of({ url, key });
  writeLogin(dataDir(options.dataDir), { url, key });
  if (options.json) printJson({ url, org });
  else console.log(`Commands now use ${url}, unless a cloud is running here.`);
}
