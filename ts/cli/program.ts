import { Command } from 'commander';
import { dataFolder } from '../hub/data-folder.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { ownCall } from '../own-call.js';
import { llamaRelease, VERSION } from '../version.js';
import { batchCommand } from './batch.js';
import { benchCommand } from './bench.js';
import { buildCommand } from './build.js';
import { chatCommand } from './chat.js';
import { cloudCommands } from './cloud/commands.js';
import { completionCommand } from './completion.js';
import { desktopCommand } from './desktop.js';
import { doctorCommand } from './doctor.js';
import { withExitCode } from './errors/exit-codes.js';
import { addSuggestions } from './errors/suggestions.js';
import { firstSteps } from './first-steps.js';
import { getCommand } from './get.js';
import { importCommand } from './import.js';
import { keysCommand } from './keys.js';
import { launchCommand } from './launch.js';
import { modelCommands } from './models.js';
import { HOSTING_OPTIONS } from './options/hosting-option-table.js';
import { warnOfMisspelt } from './options/misspelt-variables.js';
import { ALWAYS_ON } from './options/other-servers.js';
import { addTableOptions, expandAliases, givenOptions } from './options/table-options.js';
import { UPDATE_OPTIONS } from './options/update-option-table.js';
import { fitHelp } from './output/fit-help.js';
import { rmCommand } from './rm.js';
import { runningCommands } from './running/running-commands.js';
import { searchCommand } from './search.js';
import { serveCommand } from './serve.js';
import { showCommand } from './show.js';

/** @param args the full `process.argv` */
export async function runProgram(args: readonly string[]): Promise<void> {
  ignoreClosedPipe(process.stdout);
  warnOfMisspelt(process.env);
  if (args.length <= 2) {
    console.log(firstSteps(VERSION, ownCall()));
    return;
  }
  const program = allCommands();
  const command = program.commands.find((each) => each.name() === args[2]);
  const isVerbose = command?.options.some(({ short }) => short === '-v');
  // Otherwise Commander takes `-v` after the name of a command for that of the program.
  if (isVerbose && !args.includes('--version')) program.enablePositionalOptions();
  await program.parseAsync(expandAliases(args, { ...ALWAYS_ON, ...HOSTING_OPTIONS, ...LOAD_OPTIONS }));
}

/** `chasqui ls | head -1` is no failure. */
function ignoreClosedPipe(output: NodeJS.WriteStream): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

export function allCommands(): Command {
  const program = new Command('chasqui')
    .description('Chat completions from local models, with an OpenAI-compatible interface.')
    .version(versionLine(), '-v, --version', 'Print the versions of chasqui and llama.cpp')
    .helpOption('-h, --help', 'Show help')
    .addCommand(serveCommand())
    .addCommand(chatCommand())
    .addCommand(desktopCommand());
  const ofModels = [searchCommand(), getCommand(), ...modelCommands(), showCommand(), rmCommand(), importCommand()];
  const ofApps = [...runningCommands(), launchCommand(), ...cloudCommands()];
  for (const command of [...ofModels, ...ofApps]) program.addCommand(command);
  program
    .addCommand(keysCommand())
    .addCommand(batchCommand())
    .addCommand(benchCommand())
    .addCommand(doctorCommand())
    .addCommand(buildCommand());
  program.addCommand(versionCommand()).addCommand(completionCommand(program));
  program.helpCommand(false).addCommand(helpCommand(program));
  addAliases(program);
  return addSuggestions(fitHelp(program));
}

function versionCommand(): Command {
  const command = new Command('version')
    .description('Print the versions of chasqui and llama.cpp.')
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help')
    .action(({ json, ...parsed }: { json?: true }) =>
      withExitCode(async () => {
        const { updateCheck = true } = givenOptions(UPDATE_OPTIONS, parsed);
        console.log(json ? JSON.stringify({ version: VERSION, llama_cpp: llamaRelease() }) : versionLine());
        if (updateCheck && !json && process.stderr.isTTY) await reportUpdate();
      }),
    );
  return addTableOptions(command, UPDATE_OPTIONS);
}

async function reportUpdate(): Promise<void> {
  const [{ newerVersion }, { updateLine }] = await Promise.all([
    import('../updates/update-check.js'),
    import('./output/update-line.js'),
  ]);
  const found = await newerVersion({ folder: dataFolder(process.env), environment: process.env });
  if (found !== null) console.error(updateLine(found));
}

/** `ts/cloud/runners/podman.ts` reads its first word. */
function versionLine(): string {
  return `${VERSION} (llama.cpp ${llamaRelease()})`;
}

/** Commander's own help command ignores unknown names, and those after the first. */
function helpCommand(program: Command): Command {
  return new Command('help')
    .description('Show the help of a command.')
    .argument('[command...]', 'Such as keys create')
    .helpOption('-h, --help', 'Show help')
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const found = command.commands.find((each) => [each.name(), ...each.aliases()].includes(word));
        command = found ?? command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
      }
      command.outputHelp();
    });
}

/** Other names of commands, in all groups. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  get: ['pull'],
  list: ['ls'],
  ls: ['list'],
  rm: ['remove', 'delete'],
  revoke: ['rm'],
};

function addAliases(command: Command): void {
  for (const each of command.commands) {
    for (const alias of ALIASES[each.name()] ?? []) each.alias(alias);
    addAliases(each);
  }
}
