import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model, type TokenStream } from '../../ts/index.js';
import { root } from '../support/places.js';
import { tinyModel } from '../support/tiny-model.js';

/** With a vocabulary of 152,000 tokens four sequences have so many logits that threads share the sampling. */
const file = tinyModel('llama', 1, path.join(root, 'vendor', 'llama.cpp', 'models', 'ggml-vocab-qwen2.gguf'));
/** Kernels round by the shape of the batch: log-probabilities of one token may differ by this much, and no more. */
const rounding = 0.05;

interface Choice {
  id: number;
  logprob: number;
  top: readonly { id: number; logprob: number }[];
}

async function read(stream: TokenStream): Promise<Choice[]> {
  const choices: Choice[] = [];
  for await (const { id, logprobs } of stream) {
    choices.push({ id, logprob: logprobs?.logprob ?? Number.NaN, top: logprobs?.top ?? [] });
  }
  return choices;
}

function question(index: number): string {
  return `Question ${index}: ${'why '.repeat(3 + ((index * 7) % 23))}`;
}

function ask(model: Model, index: number, maxTokens: number): TokenStream {
  return model.generate({ prompt: question(index), temperature: 0, maxTokens, ignoreEos: true, topLogprobs: 8 });
}

/** Both choose the same tokens, up to one that the idle server likes as well as its own choice. */
function assertSameAnswer(busy: readonly Choice[], idle: readonly Choice[], title: string): void {
  assert.is(busy.length, idle.length, title);
  for (const [at, choice] of busy.entries()) {
    const expected = idle[at] as Choice;
    const liked = expected.top.find(({ id }) => id === choice.id)?.logprob ?? Number.NEGATIVE_INFINITY;
    const described = `${title}, token ${at}: ${JSON.stringify(choice)} instead of ${JSON.stringify(expected)}`;
    assert.ok(Math.abs(liked - choice.logprob) < rounding && expected.logprob - liked < 2 * rounding, described);
    if (choice.id !== expected.id) return;
  }
}

test('seven streams are not sampled from the logits of prompts that come and go in a slot below theirs', async () => {
  const model = await loadModel(file, { contextSize: 256, parallel: 8, threads: 2 });
  const idle: Choice[][] = [];
  for (let index = 0; index < 7; index++) idle.push(await read(ask(model, index, 60)));

  const lowest = ask(model, 99, 200);
  await lowest.next();
  const streams = idle.map((_, index) => read(ask(model, index, 60)));
  let running = true;
  const all = Promise.all(streams).finally(() => {
    running = false;
  });
  await lowest.return?.();
  while (running) await read(ask(model, 100, 1));
  for (const [index, busy] of (await all).entries()) assertSameAnswer(busy, idle[index] as Choice[], `stream ${index}`);
  await model.close();
});

for (const parallel of [8, 64]) {
  test(`${parallel} streams that begin one after another answer on two threads what they answer alone`, async () => {
    const model = await loadModel(file, { contextSize: 256, parallel, threads: 2 });
    const lengths = Array.from({ length: parallel }, (_, index) => 4 + ((index * 5) % 13));
    const idle: Choice[][] = [];
    for (const [index, length] of lengths.entries()) idle.push(await read(ask(model, index, length)));
    for (let round = 0; round < 2; round++) {
      const order = lengths.map((_, index) => (index * 13 + round * 5) % parallel);
      const streams = order.map(async (index, place) => {
        await new Promise((resolve) => setTimeout(resolve, place * 7));
        return read(ask(model, index, lengths[index] as number));
      });
      for (const [place, busy] of (await Promise.all(streams)).entries()) {
        const index = order[place] as number;
        assertSameAnswer(busy, idle[index] as Choice[], `stream ${index} of round ${round}`);
      }
    }
    await model.close();
  });
}

test.run();
