import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 512, parallel: 6, threads: 1, deterministic: true });
});
test.after(() => model.close());

/** Log-probabilities of the completion, compared bit by bit. */
async function logprobsOf(content: string): Promise<number[]> {
  const logprobs: number[] = [];
  const request = { messages: [{ role: 'user' as const, content }], temperature: 0, maxTokens: 12, topLogprobs: 0 };
  for await (const token of model.generate(request)) logprobs.push(token.logprobs?.logprob ?? 0);
  return logprobs;
}

test('answers are equal to the last bit, alone, together and repeated', async () => {
  const questions = Array.from({ length: 6 }, (_, i) => `${'word '.repeat(20 * i)}Count from ${i} to 20.`);
  const alone: number[][] = [];
  for (const question of questions) alone.push(await logprobsOf(question));
  assert.equal(await Promise.all(questions.map(logprobsOf)), alone);
  assert.equal(await Promise.all([...questions].reverse().map(logprobsOf)), [...alone].reverse());
});

test.run();
