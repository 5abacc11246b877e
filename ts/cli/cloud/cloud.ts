/** `chasqui cloud`: a cloud on this machine. */
import { Command } from 'commander';
import { addTableOptions } from '../options/table-options.js';
import { common, type Target, withTarget } from './apps.js';
import { CLOUD_START_OPTIONS } from './option-table.js';
import { ended, printJson, withHelp } from './outcome.js';

export function cloudCommand(): Command {
  const start = withHelp(new Command('start'))
    .description('Run the cloud until Ctrl-C or SIGTERM.')
    .action((parsed: Readonly<Record<string, unknown>>) =>
      ended(async () => (await import('./start-cloud.js')).startFromOptions(parsed)),
    );
  return withHelp(new Command('cloud'))
    .description('Run a cloud on this machine.')
    .addCommand(addTableOptions(start, CLOUD_START_OPTIONS))
    .addCommand(
      common('setup-link', 'Create a link for setting the password of the cloud pages; valid for half an hour.').action(
        (parsed: Readonly<Record<string, unknown>>) => withTarget(parsed, setupLink),
      ),
    );
}

async function setupLink({ cloud, json }: Target): Promise<void> {
  const link = await cloud.post<{ url: string }>('/setup-link');
  if (json) printJson(link);
  else console.log(link.url);
}
