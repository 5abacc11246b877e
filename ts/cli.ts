#!/usr/bin/env node
/** The command line: `chasqui <command>`. */
import { Command } from 'commander';
import { buildCommand } from './cli/build.js';
import { desktopCommand } from './cli/desktop.js';
import { desktopStatusCommands } from './cli/desktop-status.js';
import { doctorCommand } from './cli/doctor.js';
import { keysCommand } from './cli/keys.js';
import { modelCommands } from './cli/models.js';
import { serveCommand } from './cli/serve.js';
import { spellOut } from './cli/table-options.js';
import { LOAD_OPTIONS } from './engine/load-option-table.js';
import { VERSION } from './version.js';

const program = new Command('chasqui')
  .description('Chat completions from local models, with an OpenAI-compatible interface.')
  .version(VERSION, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'explain the command')
  .addCommand(serveCommand())
  .addCommand(desktopCommand());
for (const command of [...modelCommands(), ...desktopStatusCommands()]) program.addCommand(command);
await program
  .addCommand(keysCommand())
  .addCommand(doctorCommand())
  .addCommand(buildCommand())
  .parseAsync(spellOut(process.argv, LOAD_OPTIONS));
