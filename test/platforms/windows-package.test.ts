// The package for Windows on x64: cross-compiled, packed, installed, and run by Node.js for Windows in Wine.
import { suite } from 'uvu';
import { installFor } from '../support/cross-package.js';
import { checkPackage } from '../support/package-checks.js';
import { NODE_FOR_WINDOWS, prepareWine, runNodeInWine } from '../support/win32-x64.js';

const test = suite('platforms: win32-x64');

let folder = '';

test.before(() => {
  prepareWine();
  folder = installFor('win32-x64', { packages: [NODE_FOR_WINDOWS] });
});

// SIGTERM ends a process on Windows at once.
checkPackage(
  test,
  () => folder,
  (args) => runNodeInWine(folder, args),
  '[null,"SIGTERM"]',
);

test.run();
