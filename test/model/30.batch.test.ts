import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

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
  await Promise.all(questions.slice(0, 3).map(answer));
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
  for await (const batch of model.generate(request).batches()) {
    assert.ok(batch.length > 0);
    for (const token of batch) text += token.text;
  }
  assert.is(text, await answer('Count from 1 to 9.'));
});

test.run();
