import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { longestThatFits, sharedContext } from '../../../ts/engine/choose-context.js';
import type { NativeDeviceMemory } from '../../../ts/native/addon.js';

const test = suite('unit: how long a context is where nobody says');
const GIB = 2 ** 30;
const KIB = 2 ** 10;

/** A model with weights of 4 GiB, 128 KiB of cells for each token, and 100 MiB to compute with. */
function main(context: number): NativeDeviceMemory {
  const cells = context * 128 * KIB;
  return { name: '', total: 64 * GIB, free: 1, weights: 4 * GIB, cells, compute: 100 * KIB * KIB, other: 0 };
}

function gpu(context: number, free: number): NativeDeviceMemory {
  return { ...main(context), name: 'GPU0', free };
}

const measured = (context: number, ...memory: NativeDeviceMemory[]) => ({ context, memory });

function onCpu(mainBytes: number): number {
  return longestThatFits(measured(4096, main(4096)), measured(131_072, main(131_072)), GIB, mainBytes);
}

test('all that the model was trained for, where there is memory', () => {
  assert.is(onCpu(64 * GIB), 131_072);
});

test('cells take half of the memory that weights leave', () => {
  // (20 - 4) / 2 GiB, less 100 MiB, at 128 KiB for each token.
  assert.is(onCpu(20 * GIB), Math.floor((8 * GIB - 100 * KIB * KIB) / (128 * KIB) / 256) * 256);
});

test('the shortest, however little memory there is', () => {
  assert.is(onCpu(4 * GIB), 4096);
  assert.is(onCpu(0), 4096);
});

test('on a GPU what stays free is given, and the device with the least room decides', () => {
  const none = { ...main(0), weights: 0, compute: 0 };
  const ofGpus = (...free: number[]) =>
    longestThatFits(
      measured(4096, ...free.map((each) => gpu(4096, each)), none),
      measured(131_072, ...free.map((each) => gpu(131_072, each)), none),
      GIB,
      64 * GIB,
    );
  assert.is(ofGpus(40 * GIB), 131_072);
  assert.is(ofGpus(40 * GIB, 9 * GIB), Math.floor((4 * GIB - 100 * KIB * KIB) / (128 * KIB) / 256) * 256);
  assert.is(ofGpus(5 * GIB), 4096);
});

function shared(parallel: number, mainBytes: number) {
  const range = { shortest: measured(4096, main(4096)), longest: measured(131_072, main(131_072)) };
  return sharedContext(range, parallel, GIB, mainBytes);
}

test('one completion has the context that there is memory for, and all of them share that memory', () => {
  // What is measured is of 4 completions, so one takes a quarter: 32 KiB for each token.
  const free = 8 * GIB - 100 * KIB * KIB;
  assert.equal(shared(4, 20 * GIB), { contextLength: 131_072, kvBudgetBytes: free });
  const tight = 2 * GIB - 100 * KIB * KIB;
  const { contextLength, kvBudgetBytes } = shared(4, 8 * GIB);
  assert.is(contextLength, Math.floor(tight / (32 * KIB) / 256) * 256);
  // A little more where that is needed for the tokens' positions.
  assert.ok(kvBudgetBytes >= tight && kvBudgetBytes < tight * 1.01, `${kvBudgetBytes} of ${tight}`);
});

test('where all completions have memory for all of their context, nothing is shared', () => {
  assert.equal(shared(4, 64 * GIB), { contextLength: 131_072, kvBudgetBytes: 0 });
});

test('one completion of the shortest context has its cells, however little memory there is', () => {
  const { contextLength, kvBudgetBytes } = shared(4, GIB);
  assert.is(contextLength, 4096);
  assert.ok(kvBudgetBytes >= 4096 * 32 * KIB && kvBudgetBytes < 4096 * 33 * KIB, `${kvBudgetBytes}`);
});

test('a model whose state does not grow has all of its context', () => {
  const fixed = main(10);
  assert.is(longestThatFits(measured(4096, fixed), measured(131_072, fixed), GIB, 5 * GIB), 131_072);
});

test.run();
