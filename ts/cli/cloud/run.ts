/** `chasqui run`: an app of a script in a temporary cloud, or a chat with a model. */
import { Command } from 'commander';
import type { OptionRows } from '../../options/option-row.js';
import { CHAT_FLAGS, COMMON_OPTIONS } from '../chat/option-table.js';
import { CHAT_HELP, MODEL_HELP, startChat } from '../chat.js';
import { addTableOptions } from '../options/table-options.js';
import { RUN_OPTIONS } from './option-table.js';
import { ended, withHelp } from './outcome.js';

const SCRIPT_HELP = `
A script, such as app.ts::chat, runs at a temporary address until Ctrl-C.
`;

const { dataDir: _, json: _json, ...ofScripts } = RUN_OPTIONS;
const SCRIPT_OPTIONS: OptionRows = Object.fromEntries(
  Object.entries(ofScripts).map(([name, row]) => [name, { ...row, group: 'Scripts' }]),
);

export function runCommand(): Command {
  const command = withHelp(new Command('run'))
    .description('Chat with a model as chasqui chat does, or run an app of a script.')
    .argument('<name>', `${MODEL_HELP}; or a script`)
    .argument('[prompt...]', 'Prints the answer of the model to this prompt, and ends')
    .addHelpText('after', SCRIPT_HELP + CHAT_HELP)
    .action((name: string, words: readonly string[], parsed: Readonly<Record<string, unknown>>) => {
      const isScript = /::|\.[cm]?[jt]sx?$/.test(name);
      const others: OptionRows = isScript ? CHAT_FLAGS : SCRIPT_OPTIONS;
      const wrong = Object.entries(others).find(([option]) => parsed[option] !== undefined);
      if (wrong !== undefined) {
        command.error(`error: ${wrong[1].flag} is for ${isScript ? 'models' : 'scripts'}, but ${name} is none`);
      }
      if (!isScript) return startChat(name, words, parsed);
      if (words.length > 0) command.error('error: too many arguments: a script takes no prompt');
      return ended(async () => (await import('./run-app.js')).runApp(name, parsed));
    });
  return addTableOptions(addTableOptions(command, COMMON_OPTIONS), { ...CHAT_FLAGS, ...SCRIPT_OPTIONS });
}
