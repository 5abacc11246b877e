/** `chasqui desktop`: the desktop app. */
import { Command, Option } from 'commander';
import { DESKTOP_OPTIONS } from './desktop-option-table.js';
import { addTableOptions } from './table-options.js';

/** The app is imported only when it is wanted: its database has a native part, which other commands can do without. */
export function desktopCommand(): Command {
  const command = new Command('desktop')
    .description('Open the desktop app: find models, chat with them, serve them to other programs.')
    .addHelpOption(new Option('-h, --help', 'explain the options').helpGroup('Help:'))
    .action(async (parsed) => (await import('./run-desktop.js')).runDesktop(parsed));
  return addTableOptions(command, DESKTOP_OPTIONS);
}
