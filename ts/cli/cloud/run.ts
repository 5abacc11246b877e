/** `chasqui run app.ts::chat`: runs an app in a temporary cloud until Ctrl-C. */
import { Command } from 'commander';
import { addTableOptions } from '../options/table-options.js';
import { RUN_OPTIONS } from './option-table.js';
import { ended, withHelp } from './outcome.js';

export function runCommand(): Command {
  const command = withHelp(new Command('run'))
    .description('Run an app of a script at a temporary address until Ctrl-C.')
    .argument('<script>', 'Script and export, such as app.ts::chat')
    .action((entry: string, parsed: Readonly<Record<string, unknown>>) =>
      ended(async () => (await import('./run-app.js')).runApp(entry, parsed)),
    );
  return addTableOptions(command, RUN_OPTIONS);
}
