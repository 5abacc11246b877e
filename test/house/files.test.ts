import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, offences, read, root } from './source-tree.ts';

const longest = 400;
const ours = ['native', 'ts', 'test', 'bench', 'vendor', 'prebuilds'].flatMap((folder) =>
  files(folder, /\.(ts|mjs|js|h|cpp|cmake|py|sh)$/),
);

test('there is something to check', () => assert.ok(ours.length > 20));

test(`no file is longer than ${longest} lines`, () => {
  const lengths = ours.map((file) => ({ file, lines: read(file).split('\n').length - 1 }));
  assert.equal(
    lengths.filter(({ lines }) => lines > longest),
    [],
  );
});

test('nothing is left for later', () => {
  assert.equal(
    offences(ours, (line) => /\b(TODO|FIXME|XXX|HACK)\b/.test(line) && !line.includes('\\b')),
    [],
  );
});

test('no test is singled out or left out', () => {
  const tests = ours.filter((file) => file.endsWith('.test.ts'));
  assert.equal(
    offences(tests, (line) => /\.(only|skip)\(/.test(line) && !line.includes('\\.')),
    [],
  );
});

test('no folder or file is named utils', () => {
  assert.equal(
    ours.filter((file) => /(^|[/-])utils?([/.-]|$)/.test(file)),
    [],
  );
});

test('no file names this machine', () => {
  assert.equal(
    offences(ours, (line) => line.includes(root)),
    [],
  );
});

test.run();
