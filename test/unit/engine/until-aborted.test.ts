import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilAborted } from '../../../ts/engine/calls.js';

const test = suite('unit: until aborted');

const never = new Promise<never>(() => {});
const reason = new Error('gone');

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.unreachable(),
    (error) => error,
  );
}

test('work settles as it does when nobody aborts', async () => {
  const { signal } = new AbortController();
  for (const each of [signal, undefined]) {
    assert.is(await untilAborted(Promise.resolve(3), each, assert.unreachable), 3);
    assert.is(await failureOf(untilAborted(Promise.reject(reason), each, assert.unreachable)), reason);
  }
});

test('an abort rejects at once, and is told once', async () => {
  const stop = new AbortController();
  let aborts = 0;
  const waiting = untilAborted(never, stop.signal, () => {
    aborts += 1;
  });
  stop.abort(reason);
  assert.is(await failureOf(waiting), reason);
  assert.is(aborts, 1);
});

test('a signal that was aborted before rejects at once, whatever becomes of the work', async () => {
  let aborts = 0;
  const onAbort = () => {
    aborts += 1;
  };
  const late = new Promise<never>((_resolve, reject) => setImmediate(reject, new Error('nobody hears of it')));
  for (const work of [never, late]) {
    assert.is(await failureOf(untilAborted(work, AbortSignal.abort(reason), onAbort)), reason);
  }
  assert.is(aborts, 2);
  await new Promise((resolve) => setTimeout(resolve, 5));
});

test('nothing waits at a signal when the work is done', async () => {
  const stop = new AbortController();
  let aborts = 0;
  await untilAborted(Promise.resolve(), stop.signal, () => {
    aborts += 1;
  });
  await new Promise(setImmediate);
  stop.abort(reason);
  assert.is(aborts, 0);
});

test.run();
