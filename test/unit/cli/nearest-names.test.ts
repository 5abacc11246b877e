import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nearestNames } from '../../../ts/cli/errors/nearest-names.js';
import { cpuMs } from '../../support/cpu-time.js';

const FLAGS = ['--model', '--mode', '--ctx-size', '--parallel', '--gpu-layers', '--port', '--batch-size'];

const MEANT: [word: string, names: string[]][] = [
  ['--modl', ['--model', '--mode']],
  ['--prot', ['--port']],
  ['--pparallel', ['--parallel']],
  ['--ctx', ['--ctx-size']],
  ['--context-size', ['--ctx-size']],
  ['--layers', ['--gpu-layers']],
  ['--CTX-SIZE', ['--ctx-size']],
  ['--size', ['--ctx-size', '--batch-size']],
  ['--temperature', []],
  ['--x', []],
  ['', []],
];

for (const [word, names] of MEANT) {
  test(`'${word}' is ${names.join(' or ') || 'nothing that there is'}`, () => {
    assert.equal(nearestNames(word, FLAGS), names);
  });
}

test('three names are enough', () => {
  assert.is(nearestNames('--ab', ['--ab-b', '--ab-c', '--ab-d', '--ab-e', '--ab-f']).length, 3);
});

test('a word that no name can be like is not compared', () => {
  const started = cpuMs();
  assert.equal(nearestNames('x'.repeat(1_000_000), FLAGS), []);
  assert.ok(cpuMs() - started < 1000);
});

test.run();
