#!/usr/bin/env node
/** The command line: `chasqui <command>`. */
import { Command } from 'commander';
import { benchCommand } from './cli/bench.js';
import { buildCommand } from './cli/build.js';
import { cloudCommands } from './cli/cloud/commands.js';
import { desktopCommand } from './cli/desktop.js';
import { desktopStatusCommands } from './cli/desktop-status.js';
import { doctorCommand } from './cli/doctor.js';
import { firstSteps, ownCall } from './cli/first-steps.js';
import { getCommand } from './cli/get.js';
import { HOSTING_OPTIONS } from './cli/hosting-option-table.js';
import { importCommand } from './cli/import.js';
import { keysCommand } from './cli/keys.js';
import { launchCommand } from './cli/launch.js';
import { modelCommands } from './cli/models.js';
import { rmCommand } from './cli/rm.js';
import { searchCommand } from './cli/search.js';
import { serveCommand } from './cli/serve.js';
import { spellOut } from './cli/table-options.js';
import { nameWhatWasMeant } from './cli/what-was-meant.js';
import { LOAD_OPTIONS } from './engine/load-option-table.js';
import { VERSION } from './version.js';

const program = new Command('chasqui')
  .description('Chat completions from local models, with an OpenAI-compatible interface.')
  .version(VERSION, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'explain the command')
  .addCommand(serveCommand())
  .addCommand(desktopCommand());
const ofModels = [searchCommand(), getCommand(), ...modelCommands(), rmCommand(), importCommand()];
const ofApps = [...desktopStatusCommands(), launchCommand(), ...cloudCommands()];
for (const command of [...ofModels, ...ofApps]) program.addCommand(command);
program.addCommand(keysCommand()).addCommand(benchCommand()).addCommand(doctorCommand()).addCommand(buildCommand());
nameWhatWasMeant(program);
if (process.argv.length <= 2) console.log(firstSteps(VERSION, ownCall()));
else await program.parseAsync(spellOut(process.argv, { ...HOSTING_OPTIONS, ...LOAD_OPTIONS }));
