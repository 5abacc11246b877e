/** `chasqui serve`: serves models with an OpenAI-compatible API. */
import { Command, CommanderError, Option } from 'commander';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { HOSTING_OPTIONS } from './options/hosting-option-table.js';
import { addTableOptions, expandAliases } from './options/table-options.js';

const ENVIRONMENT_HELP = `
Each option can also be set by an environment variable: CHASQUI_CTX_SIZE=8192
for --ctx-size 8192, CHASQUI_STRICT=1 for --strict. The variable of --data-dir
is CHASQUI_HOME. A flag takes precedence over its variable: --no-strict
overrides CHASQUI_STRICT=1.`;

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve a model at http://<host>:<port>/v1 until stopped by Ctrl-C or SIGTERM.')
    .addHelpOption(new Option('-h, --help', 'Show help').helpGroup('Help:'))
    .addHelpText('after', ENVIRONMENT_HELP)
    .action(async (parsed) => (await import('./serve/run-serve.js')).runServe(parsed));
  return addTableOptions(addTableOptions(command, HOSTING_OPTIONS), LOAD_OPTIONS);
}

/** Parses the full `process.argv` to the options of the action. Returns `undefined` if they are invalid. */
export function parseServe(args: readonly string[]): Record<string, unknown> | undefined {
  const quiet = { writeOut: () => {}, writeErr: () => {} };
  const command = serveCommand().configureOutput(quiet).exitOverride();
  let parsed: Record<string, unknown> | undefined;
  command.action((options) => {
    parsed = options;
  });
  try {
    command.parse(expandAliases(args.slice(3), { ...HOSTING_OPTIONS, ...LOAD_OPTIONS }), { from: 'user' });
    return parsed;
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
}
