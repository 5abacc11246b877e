// Unit tests in Node.js for Windows, run by Wine: paths, quoting, pipes, child processes and their ends, locks, line ends.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { prepareWine, runNodeInWine } from '../support/win32-x64.js';
import { mirrorForWine } from '../support/wine-mirror.js';

const test = suite('platforms: unit tests on win32-x64');

const FOLDERS = ['chat', 'cli', 'engine', 'http', 'models', 'native', 'process', 'server', 'text'];
/** Symbolic links and cgroups. */
const NEEDS_LINUX = /model-specs|out-of-memory/;

let mirror = '';
let parent = '';

test.before(() => {
  prepareWine();
  ({ mirror, parent } = mirrorForWine());
});

for (const folder of FOLDERS) {
  test(folder, () => {
    const uvu = ['node_modules/uvu/bin.js', '--no-color', '--ignore', NEEDS_LINUX.source];
    const { status, output } = runNodeInWine(mirror, [...uvu, 'test/unit', `^${folder}[\\\\/]`], parent);
    assert.is(status, 0, output);
    assert.match(output, /Passed: {4}[1-9]/);
  });
}

test.run();
