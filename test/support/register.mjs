// Runs tests written in TypeScript: node --import ./test/support/register.mjs node_modules/uvu/bin.js test/unit some-name
import module from 'node:module';
import process from 'node:process';
import 'tsx';
import kleur from 'kleur';
import { usesDist } from './node-arguments.mjs';

// Child processes must not inherit the colours of uvu's output: with FORCE_COLOR, console.log(1) prints escape sequences, and
// with NO_COLOR too, Node prints a warning. uvu colours with kleur, which has read both variables by now.
if (/[\\/]uvu[\\/]bin\.js$/.test(process.argv[1] ?? '')) {
  if (process.argv.includes('--no-color')) kleur.enabled = false;
  else process.argv.push('--no-color');
  delete process.env.FORCE_COLOR;
  delete process.env.NO_COLOR;
}

// Messages name the command that started chasqui, by the environment that npm and npx set.
process.env.npm_command = 'exec';

// Hooks that are registered last run first.
if (usesDist()) {
  if (module.registerHooks) module.registerHooks(await import('./dist-hooks.mjs'));
  else module.register('./dist-hooks.mjs', import.meta.url);
}
