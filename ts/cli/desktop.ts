/** `chasqui desktop`: the desktop app. */
import { Command, Option } from 'commander';
import { DESKTOP_OPTIONS } from './options/desktop-option-table.js';
import { addTableOptions } from './options/table-options.js';

/** Lazy import: the app loads the native part of its database, which other commands do not need. */
export function desktopCommand(): Command {
  const command = new Command('desktop')
    .description('Open the desktop app: find models, chat with them, serve them to other programs.')
    .addHelpOption(new Option('-h, --help', 'Show help').helpGroup('Help:'))
    .action(async (parsed) => (await import('./desktop/run-desktop.js')).runDesktop(parsed));
  return addTableOptions(command, DESKTOP_OPTIONS);
}
