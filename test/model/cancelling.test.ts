import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { ENDLESS_CONTEXT } from '../support/long-answer.js';
import { until } from '../support/until.js';

const endless = { prompt: 'The', ignoreEos: true };

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: ENDLESS_CONTEXT, parallel: 2, threads: 1 });
});
test.after(() => model.close());

async function allFree(): Promise<void> {
  await until(async () => {
    const stats = await model.stats();
    return stats.active === 0 && stats.queued === 0 && stats.kvCellsUsed === 0;
  }, 'no sequence is held');
}

test('break frees the sequence', async () => {
  let n = 0;
  for await (const _ of model.generate(endless)) if (++n === 3) break;
  await allFree();
});

test('return() frees the sequence, also before the first token', async () => {
  const stream = model.generate(endless);
  assert.equal(await stream.return(), { done: true, value: undefined });
  assert.equal(await stream.next(), { done: true, value: undefined });
  await allFree();
});

test('an abort while decoding rejects with its reason and frees the sequence within one step', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const stream = model.generate(endless, { signal: controller.signal });
  await stream.next();
  controller.abort(reason);
  await stream.next().then(
    () => assert.unreachable(),
    (error) => assert.is(error, reason),
  );
  const { decodeSteps } = await model.stats();
  await allFree();
  assert.ok((await model.stats()).decodeSteps - decodeSteps <= 2);
});

test('an abort while queued rejects and leaves the running ones alone', async () => {
  let isOver = false;
  // Unread, they would be paused and give their places to the third.
  const read = async () => {
    for await (const _ of model.generate(endless)) if (isOver) return;
  };
  const running = [read(), read()];
  await until(async () => (await model.stats()).active === 2, 'two jobs run');
  const controller = new AbortController();
  const queued = model.generate(endless, { signal: controller.signal });
  const first = queued.next();
  await until(async () => (await model.stats()).queued === 1, 'the third job is queued');
  controller.abort();
  await first.then(
    () => assert.unreachable(),
    (error) => assert.is(error.name, 'AbortError'),
  );
  await until(async () => (await model.stats()).queued === 0, 'the queue is empty');
  assert.is((await model.stats()).active, 2);
  isOver = true;
  await Promise.all(running);
  await allFree();
});

test('an abort in prefill and one before the prompt is tokenized free everything', async () => {
  const long = Array.from({ length: ENDLESS_CONTEXT - 1000 }, (_, i) => 40 + (i % 50));
  const controller = new AbortController();
  const inPrefill = model.generate({ ...endless, prompt: long }, { signal: controller.signal });
  const first = inPrefill.next();
  await until(async () => (await model.stats()).active === 1, 'the prefill runs');
  controller.abort();
  await first.then(
    () => assert.unreachable(),
    (error) => assert.is(error.name, 'AbortError'),
  );
  const aborted = model.generate(endless, { signal: AbortSignal.abort() });
  await aborted.next().then(
    () => assert.unreachable(),
    (error) => assert.is(error.name, 'AbortError'),
  );
  await allFree();
});

test('jobs cancelled and finished at random leave nothing behind', async () => {
  let state = 1;
  const random = (below: number) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
  await Promise.all(
    Array.from({ length: 60 }, async () => {
      const limit = random(12);
      let n = 0;
      for await (const _ of model.generate({ ...endless, maxTokens: 1 + random(12) })) if (++n > limit) break;
    }),
  );
  await allFree();
});

test('after all that the model still answers', async () => {
  let n = 0;
  for await (const _ of model.generate({ prompt: 'The', maxTokens: 4, temperature: 0 })) n++;
  assert.ok(n > 0);
});

test.run();
