import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryBudget } from '../../../ts/models/memory-budget.js';
import { bytesTaken } from '../../../ts/server/open-pool.js';
import { FakeSource, poolOf } from '../../support/fake-source.js';

const test = suite('unit: what loaded models may take together');

test('a share of what is free, and of the GPUs that engines tell of, each once', () => {
  const budget = MemoryBudget.ofFree(100);
  assert.is(budget.bytes, 80);
  budget.learn([
    { name: 'CUDA0', memoryBytes: 200 },
    { name: 'CUDA1', memoryBytes: 0 },
  ]);
  budget.learn([{ name: 'CUDA0', memoryBytes: 200 }]);
  assert.is(budget.bytes, 240);
});

test('a configured budget is kept', () => {
  const budget = MemoryBudget.of(50);
  budget.learn([{ name: 'CUDA0', memoryBytes: 200 }]);
  assert.is(budget.bytes, 50);
});

test('a second model stays beside the first where a GPU has room for it', async () => {
  for (const [memoryBytes, first] of [
    [0, 'unloaded'],
    [10, 'loaded'],
  ] as const) {
    const sources = ['a', 'b'].map((id) => new FakeSource(id)) as [FakeSource, FakeSource];
    // 12 of 15 bytes: one model of ten.
    const { pool, states } = await poolOf(sources, { budget: MemoryBudget.ofFree(15) });
    sources[0].gpus = [{ name: 'CUDA0', memoryBytes }];
    for (const id of ['a', 'b']) (await pool.acquire(id, {})).release();
    assert.equal(states(), [first, 'loaded'], `${memoryBytes} bytes`);
    await pool.close();
  }
});

test('the estimate is the lower bound for a model on a GPU', () => {
  const on = (devices: string[]) => ({ placement: { devices, gpuLayers: 1, layers: 1 } });
  assert.is(bytesTaken(5, 10, on(['CUDA0'])), 10);
  assert.is(bytesTaken(15, 10, on(['CUDA0'])), 15);
  assert.is(bytesTaken(5, 10, on([])), 5);
});

test.run();
