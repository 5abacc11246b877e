/** `chasqui cloud`: a cloud on this machine. */
import { Command } from 'commander';
import { dataDir } from '../../hub/data-folder.js';
import { addTableOptions, givenOptions } from '../options/table-options.js';
import { common, type Target, withTarget } from './apps.js';
import { CLOUD_START_OPTIONS, DATA_DIR_OPTION } from './option-table.js';
import { ended, print, withHelp } from './outcome.js';

export function cloudCommand(): Command {
  const start = withHelp(new Command('start'))
    .description('Run the cloud until Ctrl-C or SIGTERM.')
    .action((parsed: Readonly<Record<string, unknown>>) =>
      ended(async () => (await import('./start-cloud.js')).startFromOptions(parsed)),
    );
  return withHelp(new Command('cloud'))
    .description('Run a cloud on this machine.')
    .addCommand(addTableOptions(start, CLOUD_START_OPTIONS))
    .addCommand(copying('backup', 'Copy the data of the cloud to a new folder, also while it runs.', 'backUp'))
    .addCommand(copying('restore', 'Fill a data folder from a backup. Then start the cloud.', 'restore'))
    .addCommand(
      common('setup-link', 'Create a link for setting the password of the cloud pages; valid for half an hour.').action(
        (parsed: Readonly<Record<string, unknown>>) => withTarget(parsed, setupLink),
      ),
    );
}

function copying(name: string, says: string, action: 'backUp' | 'restore'): Command {
  const command = withHelp(new Command(name)).description(says).argument('<folder>', 'Folder of the backup');
  return addTableOptions(command, DATA_DIR_OPTION).action((folder: string, parsed: Readonly<Record<string, unknown>>) =>
    ended(async () => {
      const { dataDir: given } = givenOptions(DATA_DIR_OPTION, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
      (await import('../../cloud/store/backup.js'))[action](dataDir(given), folder);
      console.log(action === 'backUp' ? `Backup: ${folder}. It contains secrets and their key.` : 'Restored.');
    }),
  );
}

async function setupLink({ cloud, json }: Target): Promise<void> {
  const link = await cloud.post<{ url: string }>('/setup-link');
  print(json, link, link.url);
}
