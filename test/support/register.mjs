// Runs tests written in TypeScript: node --import ./test/support/register.mjs node_modules/uvu/bin.js test/unit some-name
import module from 'node:module';
import 'tsx';
import { usesDist } from './node-arguments.mjs';

// Hooks that are registered last run first.
if (usesDist()) {
  if (module.registerHooks) module.registerHooks(await import('./dist-hooks.mjs'));
  else module.register('./dist-hooks.mjs', import.meta.url);
}
