/** `chasqui serve`: serves models with an OpenAI-compatible API. */
import { Command, CommanderError, Option } from 'commander';
import { isHubName } from '../hub/model-name.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { HOSTING_OPTIONS } from './options/hosting-option-table.js';
import { ALWAYS_ON } from './options/other-servers.js';
import { addTableOptions, expandAliases } from './options/table-options.js';

const ENVIRONMENT_HELP = `
Each option can also be set by an environment variable: CHASQUI_CTX_SIZE=8192
for --ctx-size 8192, CHASQUI_STRICT=1 for --strict. The variable of --data-dir
is CHASQUI_HOME. A flag takes precedence over its variable: --no-strict
overrides CHASQUI_STRICT=1.`;

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve a model at http://<host>:<port>/v1 until stopped by Ctrl-C or SIGTERM.')
    .argument('[model]', 'A GGUF file, a name that chasqui ls lists, or a model of the hub')
    .addHelpOption(new Option('-h, --help', 'Show help').helpGroup('Help:'))
    .addHelpText('after', ENVIRONMENT_HELP)
    .action(async (name, parsed, self) =>
      (await import('./serve/run-serve.js')).runServe(withModel(name, parsed, self)),
    );
  addTableOptions(command, ALWAYS_ON);
  for (const option of command.options) option.hideHelp();
  return addTableOptions(addTableOptions(command, HOSTING_OPTIONS), LOAD_OPTIONS);
}

/** Parses the full `process.argv` to the options of the action. Returns `undefined` if they are invalid. */
export function parseServe(args: readonly string[]): Record<string, unknown> | undefined {
  const quiet = { writeOut: () => {}, writeErr: () => {} };
  const command = serveCommand().configureOutput(quiet).exitOverride();
  let parsed: Record<string, unknown> | undefined;
  command.action((name, options, self) => {
    parsed = withModel(name, options, self);
  });
  try {
    command.parse(expandAliases(args.slice(3), { ...ALWAYS_ON, ...HOSTING_OPTIONS, ...LOAD_OPTIONS }), {
      from: 'user',
    });
    return parsed;
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
}

type Parsed = Readonly<Record<string, unknown>>;

/** `chasqui serve user/repo` means `-hf user/repo`; other names are those of files or local models. */
function withModel(name: string | undefined, parsed: Parsed, command: Command): Record<string, unknown> {
  if (name === undefined) return { ...parsed };
  if (parsed.hf !== undefined || parsed.modelUrl !== undefined) {
    command.error(`error: '${name}' and ${parsed.hf === undefined ? '--model-url' : '-hf'} name different models`);
  }
  return isHubName(name)
    ? { hf: name, ...parsed }
    : { ...parsed, model: [name, ...((parsed.model ?? []) as string[])] };
}
