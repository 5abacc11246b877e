/** `chasqui serve`: a model behind an OpenAI-compatible server, until it is told to stop. */
import { Command, CommanderError, Option } from 'commander';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';
import { addTableOptions, spellOut } from './table-options.js';

const ENVIRONMENT_HELP = `
Each option can also be given by an environment variable: CHASQUI_CTX_SIZE=8192
for --ctx-size 8192, CHASQUI_STRICT=1 for --strict; only --data-dir has another
name, CHASQUI_HOME. A flag goes before its variable: --no-strict undoes
CHASQUI_STRICT=1.`;

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve a model at http://<host>:<port>/v1 until stopped by Ctrl-C or SIGTERM.')
    .addHelpOption(new Option('-h, --help', 'explain the options').helpGroup('Help:'))
    .addHelpText('after', ENVIRONMENT_HELP)
    .action(async (parsed) => (await import('./run-serve.js')).runServe(parsed));
  return addTableOptions(addTableOptions(command, HOSTING_OPTIONS), LOAD_OPTIONS);
}

/** What the action gets of these arguments, Node's own included; `undefined` where they are wrong. Prints nothing. */
export function parseServe(args: readonly string[]): Record<string, unknown> | undefined {
  const quiet = { writeOut: () => {}, writeErr: () => {} };
  const command = serveCommand().configureOutput(quiet).exitOverride();
  let parsed: Record<string, unknown> | undefined;
  command.action((options) => {
    parsed = options;
  });
  try {
    command.parse(spellOut(args.slice(3), { ...HOSTING_OPTIONS, ...LOAD_OPTIONS }), { from: 'user' });
    return parsed;
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
}
