#!/usr/bin/env node
/** The command line: `chasqui <command>`. */
import process from 'node:process';
import { startServeFast } from './cli/serve/fast-start.js';

if (!(await startServeFast(process.argv))) {
  const { runProgram } = await import('./cli/program.js');
  await runProgram(process.argv);
}
