/** `chasqui chat`: a conversation with a model in the terminal. */
import { Command } from 'commander';
import { CHAT_FLAGS, COMMON_OPTIONS } from './chat/option-table.js';
import { withExitCode } from './errors/exit-codes.js';
import { addTableOptions } from './options/table-options.js';

export const MODEL_HELP = 'A GGUF file, a name that chasqui ls lists, a model of the hub, or demo';
export const CHAT_HELP = `
A prompt on the command line or on standard input gets one answer, and nothing
else is printed: git diff | chasqui run demo "Summarize:". In a chat, /help
lists the commands. """ starts and ends a message of several lines. A path of an
image in a message shows it to the model, if the model has vision.`;

export function chatCommand(): Command {
  const command = new Command('chat')
    .description('Chat with a model in the terminal; downloads it if it is not on this computer.')
    .argument('[model]', MODEL_HELP, 'demo')
    .argument('[prompt...]', 'Prints the answer to this prompt, and ends')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', CHAT_HELP)
    .action(startChat);
  return addTableOptions(addTableOptions(command, COMMON_OPTIONS), CHAT_FLAGS);
}

export function startChat(
  model: string,
  words: readonly string[],
  parsed: Readonly<Record<string, unknown>>,
): Promise<void> {
  return withExitCode(async () => (await import('./chat/run-chat.js')).runChat(model, words.join(' '), parsed));
}
