// When a process is taken to have too much memory: while it works, and for a while after that, but not when it rests.
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryWatch } from '../../../ts/engine/child/memory-watch.js';

const test = suite('unit: the memory of what prepares requests');

test.before.each(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.after.each(() => mock.timers.reset());

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Timers that are set meanwhile are due in time as well. */
function pass(ms: number): void {
  for (let at = 0; at < ms; at += 10) mock.timers.tick(10);
}

function watched() {
  const state = { bytes: 100, looks: 0, exceeded: 0 };
  const measure = () => {
    state.looks += 1;
    return state.bytes;
  };
  const onExceeded = () => {
    state.exceeded += 1;
  };
  const watch = new MemoryWatch({ mayGrowBy: 50, onExceeded, measure });
  state.looks = 0;
  return { state, watch };
}

test('memory at the start is not counted, and the limit itself is allowed', async () => {
  const { state, watch } = watched();
  void watch.during(() => new Promise(() => {}));
  state.bytes = 150;
  pass(1000);
  assert.ok(state.looks >= 10);
  assert.is(state.exceeded, 0);
  state.bytes = 151;
  pass(100);
  assert.ok(state.exceeded > 0);
});

test('it looks for as long as something goes on, a while longer, and then no more', async () => {
  const { state, watch } = watched();
  let end: (result: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const work = watch.during(() => ended);
  pass(60_000);
  const during = state.looks;
  pass(60_000);
  assert.ok(state.looks > during, 'work that takes long');
  end('done');
  assert.is(await work, 'done');
  const before = state.looks;
  pass(1000);
  assert.ok(state.looks > before, 'work that goes on, though nobody waits for it');
  pass(60_000);
  const after = state.looks;
  pass(60_000);
  assert.is(state.looks, after);
});

test('work that fails is over, and later work is looked at again', async () => {
  const { state, watch } = watched();
  const failed = watch.during(() => Promise.reject(new Error('no')));
  assert.is(await failed.catch((error) => error.message), 'no');
  const thrown = watch.during(() => {
    throw new Error('at once');
  });
  assert.is(await thrown.catch((error) => error.message), 'at once');
  pass(60_000);
  await turn();
  const before = state.looks;
  void watch.during(() => new Promise(() => {}));
  pass(1000);
  assert.ok(state.looks > before);
});

test.run();
