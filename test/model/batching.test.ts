import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { until } from '../support/until.js';

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 512, parallel: 3, threads: 1 });
});
test.after(() => model.close());

async function answer(content: string): Promise<string> {
  let text = '';
  for await (const token of model.generate({ messages: [{ role: 'user', content }], temperature: 0, maxTokens: 40 })) {
    text += token.text;
  }
  return text;
}

const questions = Array.from({ length: 12 }, (_, i) => `Count from ${i + 1} to ${i + 4}.`);

test('answers of sequences that run together equal those of sequences that run alone', async () => {
  const alone: string[] = [];
  for (const question of questions) alone.push(await answer(question));
  assert.equal(await Promise.all(questions.map(answer)), alone);
});

test('more jobs than sequences wait their turn', async () => {
  const before = await model.stats();
  const running = questions.map(answer);
  await Promise.all(running);
  const after = await model.stats();
  assert.is(after.jobsFinished - before.jobsFinished, questions.length);
  assert.is(after.active, 0);
  assert.is(after.queued, 0);
  assert.is(after.kvCellsUsed, 0);
});

test('sequences share decode steps', async () => {
  const before = await model.stats();
  const endings = [1, 2, 3].map(async () => {
    for await (const _ of model.generate({ prompt: 'The', ignoreEos: true, maxTokens: 200 }));
  });
  await Promise.all(endings);
  const after = await model.stats();
  const tokens = after.completionTokens - before.completionTokens;
  assert.ok(after.decodeSteps - before.decodeSteps < 0.7 * tokens, `${tokens} tokens, no steps shared`);
});

test('batches bring the same tokens as single steps', async () => {
  const request = {
    messages: [{ role: 'user' as const, content: 'Count from 1 to 9.' }],
    temperature: 0,
    maxTokens: 40,
  };
  let text = '';
  await model.generate(request).forEachBatch((batch) => {
    assert.ok(batch.length > 0);
    for (const token of batch) text += token.text;
  });
  assert.is(text, await answer('Count from 1 to 9.'));
});

test('a reader that stops reading pauses only itself, and gives its place to others', async () => {
  const endless = { prompt: 'The', ignoreEos: true };
  const small = await loadModel(demoModelPath, { contextSize: 2048, parallel: 1, threads: 1 });
  const stalled = small.generate(endless);
  await stalled.next();
  const steps = async () => (await small.stats()).decodeSteps;
  let before = -1;
  await until(async () => {
    const now = await steps();
    const still = now === before;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return still;
  }, 'the stalled job is paused');
  let n = 0;
  for await (const _ of small.generate({ ...endless, maxTokens: 30 })) n++;
  assert.is(n, 30);
  let read = 1;
  for await (const _ of stalled) read++;
  assert.ok(read > 1024, `${read} tokens`);
  await small.close();
});

test('more jobs than the queue takes are refused, and the others are served', async () => {
  const small = await loadModel(demoModelPath, { contextSize: 256, parallel: 1, threads: 1, maxQueue: 2 });
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, async () => {
      for await (const _ of small.generate({ prompt: 'The', maxTokens: 5 }));
    }),
  );
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.is(refused.length, 3);
  for (const error of refused) {
    assert.is(error.code, 'queue_full');
    assert.ok(error.retryAfterSeconds >= 1);
  }
  await small.close();
});

test.run();
