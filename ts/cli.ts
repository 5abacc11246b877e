#!/usr/bin/env node
/** The command line: `chasqui <command>`. */
import process from 'node:process';
import { serveAtOnce } from './cli/serve-at-once.js';

if (!(await serveAtOnce(process.argv))) {
  const { runProgram } = await import('./cli/program.js');
  await runProgram(process.argv);
}
