import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf, ExecutionTally } from '../../fuzz/tally.js';

const test = suite('unit: executions of the fuzzers');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-tally-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const run = (executions: number) => ({ executions, seconds: 2, findings: 0 });
const at = (day: number) => new Date(Date.UTC(2026, 0, day));

test('runs of the same code add up, in whichever process they are', () => {
  const file = path.join(folder, 'same.json');
  new ExecutionTally(file).add('gbnf', 'a', run(5), at(1));
  new ExecutionTally(file).add('image', 'a', run(100), at(1));
  new ExecutionTally(file).add('gbnf', 'a', { ...run(7), findings: 1 }, at(2));
  const { executions, seconds, runs, findings, since, until } = new ExecutionTally(file).total('gbnf', 'a') ?? {};
  assert.equal({ executions, seconds, runs, findings }, { executions: 12, seconds: 4, runs: 2, findings: 1 });
  assert.equal([since, until], [at(1).toISOString(), at(2).toISOString()]);
});

test('other code begins anew, and what there was is kept beside it', () => {
  const file = path.join(folder, 'other.json');
  const tally = new ExecutionTally(file);
  tally.add('gbnf', 'a', run(5), at(1));
  assert.is(tally.total('gbnf', 'b'), undefined);
  assert.is(tally.add('gbnf', 'b', run(3), at(2)).executions, 3);
  assert.is(tally.total('gbnf', 'a'), undefined);
  const { earlier } = JSON.parse(fs.readFileSync(file, 'utf8')).gbnf;
  assert.equal(
    earlier.map(({ code, executions }: { code: string; executions: number }) => [code, executions]),
    [['a', 5]],
  );
});

test('a file that cannot be read is not taken for an empty one', () => {
  const file = path.join(folder, 'broken.json');
  fs.writeFileSync(file, '{"gbnf":');
  assert.throws(() => new ExecutionTally(file).add('gbnf', 'a', run(1)), /broken\.json cannot be read/);
});

test('the digest is of the names and contents of what is wanted, wherever it lies', () => {
  const write = (root: string, name: string, text: string) => {
    fs.mkdirSync(path.join(folder, root, 'code'), { recursive: true });
    fs.writeFileSync(path.join(folder, root, 'code', name), text);
  };
  const digest = (root: string) => digestOf(path.join(folder, root), ['code'], (file) => file.endsWith('.cpp'));
  for (const root of ['one', 'two']) write(root, 'a.cpp', 'int a;');
  write('two', 'notes.md', 'not code');
  assert.is(digest('one'), digest('two'));
  write('two', 'a.cpp', 'int b;');
  assert.is.not(digest('one'), digest('two'));
  write('one', 'b.cpp', 'int a;');
  fs.rmSync(path.join(folder, 'one', 'code', 'a.cpp'));
  write('two', 'a.cpp', 'int a;');
  assert.is.not(digest('one'), digest('two'));
});

test.run();
