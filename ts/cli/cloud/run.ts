/** `chasqui run app.ts::chat`: an app for as long as the command runs, in a small cloud of its own. */
import { Command } from 'commander';
import { addTableOptions } from '../table-options.js';
import { RUN_OPTIONS } from './option-table.js';
import { ended, withHelp } from './outcome.js';

export function runCommand(): Command {
  const command = withHelp(new Command('run'))
    .description('Run an app of a script until Ctrl-C, at an address of its own.')
    .argument('<script>', 'the script, and after :: which of its exports, such as app.ts::chat')
    .action((entry: string, parsed: Readonly<Record<string, unknown>>) =>
      ended(async () => (await import('./run-app.js')).runApp(entry, parsed)),
    );
  return addTableOptions(command, RUN_OPTIONS);
}
