import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { root } from '../support/places.js';
import { tinyModel } from '../support/tiny-model.js';
import { until } from '../support/until.js';

/** To find what a grammar allows among 152,000 tokens takes longer than a step of this model. */
const file = tinyModel('llama', 1, path.join(root, 'vendor', 'llama.cpp', 'models', 'ggml-vocab-qwen2.gguf'));

/** Palindromes of even length: the grammar remembers all letters, so no two beginnings are followed alike. */
const letters = 'abcdefghijklmnopqrstuvwxyz';
const slow = `root ::= s "."\ns ::= "" | ${[...letters].map((letter) => `"${letter}" s "${letter}"`).join(' | ')}`;

function constrained(model: Model, gbnf: string, maxTokens: number) {
  const grammar = { gbnf, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
  return model.generate({ prompt: 'Words: ', grammar, temperature: 1, topK: 0, seed: 3, maxTokens });
}

async function textOf(stream: AsyncIterable<{ text: string }>): Promise<string> {
  let text = '';
  for await (const token of stream) text += token.text;
  return text;
}

test('a sequence whose grammar is slow costs itself time, and the others none of their tokens', async () => {
  const model = await loadModel(file, { contextSize: 512, parallel: 4, threads: 2 });
  const alone = await textOf(constrained(model, slow, 8));
  assert.match(alone, /^[a-z]+$/);

  const steps = async () => (await model.stats()).decodeSteps;
  let running = true;
  const plain = (async () => {
    while (running) {
      for await (const _ of model.generate({ prompt: 'The', ignoreEos: true, temperature: 0, maxTokens: 200 })) {
        if (!running) break;
      }
    }
  })();
  try {
    // On a busy machine, the threads that sample the slow tokens may get most of the time.
    await until(
      async () => {
        const before = await steps();
        const texts = await Promise.all([textOf(constrained(model, slow, 8)), textOf(constrained(model, slow, 8))]);
        assert.equal(texts, [alone, alone], 'the same seed draws the same tokens, within the step and aside');
        // Counted by the engine: this process may read all tokens late.
        return (await steps()) - before > 40;
      },
      '40 steps beside 8 slow tokens of each',
      300_000,
    );
  } finally {
    running = false;
    await plain;
  }
  await model.close();
});

/** Each slash is followed by a chain of references, and a slash deeper in each. */
const slowToFollow = [
  'root ::= s',
  's ::= "q" | "/" r0 "q"',
  ...Array.from({ length: 2500 }, (_, i) => `r${i} ::= r${i + 1}`),
  'r2500 ::= s',
].join('\n');

test('a grammar that is slow to follow a single token is followed aside as well', async () => {
  const model = await loadModel(file, { contextSize: 512, parallel: 2, threads: 2 });
  const slashes = await model.tokenize('/'.repeat(96));
  assert.is(slashes.length, 1);
  const grammar = { gbnf: slowToFollow, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
  const logitBias = { [slashes[0] as number]: 100 };
  const text = await textOf(model.generate({ prompt: 'Slashes: ', grammar, logitBias, temperature: 0, maxTokens: 10 }));
  assert.is(text, '/'.repeat(960));
  const { sampledAside } = await model.stats();
  assert.ok(sampledAside >= 8, `${sampledAside} of 10 tokens`);
  await model.close();
});

test('a job whose token is being sampled aside can be cancelled, and the model closed', async () => {
  const model = await loadModel(file, { contextSize: 512, parallel: 2, threads: 1 });
  const controller = new AbortController();
  const stream = model.generate(
    {
      prompt: 'Words: ',
      grammar: { gbnf: slow, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] },
      topK: 0,
      maxTokens: 100,
    },
    { signal: controller.signal },
  );
  await stream.next();
  controller.abort(new Error('enough'));
  try {
    for await (const _ of stream);
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, 'enough');
  }
  const left = constrained(model, slow, 100);
  await left.next();
  await model.close();
  const stats = await model.stats().catch((error) => error.code);
  assert.is(stats, 'engine_closed');
});

test.run();
