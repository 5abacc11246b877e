import path from 'node:path';
import { test } from 'uvu';
import { loadModel, type Model, type ReplyStream } from '../../ts/index.js';
import { root } from '../support/places.js';
import { assertSameChoices, type Choice, readChoices } from '../support/same-choices.js';
import { tinyModel } from '../support/tiny-model.js';

/** With a vocabulary of 152,000 tokens four sequences have so many logits that threads share the sampling. */
const file = tinyModel('llama', 1, path.join(root, 'vendor', 'llama.cpp', 'models', 'ggml-vocab-qwen2.gguf'));
function question(index: number): string {
  return `Question ${index}: ${'why '.repeat(3 + ((index * 7) % 23))}`;
}

function ask(model: Model, index: number, maxTokens: number): ReplyStream {
  return model.generate({ prompt: question(index), temperature: 0, maxTokens, ignoreEos: true, topLogprobs: 8 });
}

test('seven streams are not sampled from the logits of prompts that come and go in a slot below theirs', async () => {
  const model = await loadModel(file, { contextSize: 256, parallel: 8, threads: 2 });
  const idle: Choice[][] = [];
  for (let index = 0; index < 7; index++) idle.push(await readChoices(ask(model, index, 60)));

  const lowest = ask(model, 99, 200);
  await lowest.next();
  const streams = idle.map((_, index) => readChoices(ask(model, index, 60)));
  let running = true;
  const all = Promise.all(streams).finally(() => {
    running = false;
  });
  await lowest.return?.();
  while (running) await readChoices(ask(model, 100, 1));
  for (const [index, busy] of (await all).entries())
    assertSameChoices(busy, idle[index] as Choice[], `stream ${index}`);
  await model.close();
});

for (const parallel of [8, 64]) {
  test(`${parallel} streams that begin one after another answer on two threads what they answer alone`, async () => {
    const model = await loadModel(file, { contextSize: 256, parallel, threads: 2 });
    const lengths = Array.from({ length: parallel }, (_, index) => 4 + ((index * 5) % 13));
    const idle: Choice[][] = [];
    for (const [index, length] of lengths.entries()) idle.push(await readChoices(ask(model, index, length)));
    for (let round = 0; round < 2; round++) {
      const order = lengths.map((_, index) => (index * 13 + round * 5) % parallel);
      const streams = order.map(async (index, place) => {
        await new Promise((resolve) => setTimeout(resolve, place * 7));
        return readChoices(ask(model, index, lengths[index] as number));
      });
      for (const [place, busy] of (await Promise.all(streams)).entries()) {
        const index = order[place] as number;
        assertSameChoices(busy, idle[index] as Choice[], `stream ${index} of round ${round}`);
      }
    }
    await model.close();
  });
}

test.run();
