// Greedy completions of real models: alone, from the cache, in eights and with drafts, each has the same bits.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Model } from '../../ts/index.js';
import { withModel } from '../support/answer.js';
import { root } from '../support/places.js';
import { gemma3, smolLM2 } from '../support/real-models.js';
import { type Choice, readChoices } from '../support/same-choices.js';

const SOURCES = ['README.md', 'include/llama.h', 'grammars/README.md', 'common/chat.cpp', 'AGENTS.md'];
/** In characters. The longest exceeds Gemma's sliding window. */
const LENGTHS = [300, 1100, 2400];
const prompts = SOURCES.flatMap((source) => {
  const text = fs.readFileSync(path.join(root, 'vendor', 'llama.cpp', source), 'utf8');
  return LENGTHS.map((length) => text.slice(0, length));
});
const options = { contextSize: 1536, threads: 2 };

const complete = (model: Model, prompt: string): Promise<Choice[]> =>
  readChoices(model.generate({ prompt, temperature: 0, topLogprobs: 1, maxTokens: 24, ignoreEos: true }));

/** Sums of finished jobs. */
const draftsOf = async (model: Model) => (await model.stats()).acceptedTokens;

for (const [name, fetchModel] of [
  ['SmolLM2-135M', smolLM2],
  ['Gemma 3 270M', gemma3],
] as const) {
  test(`${name}: ${3 * prompts.length} greedy completions have the bits of plain ones`, async () => {
    const file = fetchModel();
    const expected: Choice[][] = [];
    await withModel(file, { ...options, parallel: 1, draftMax: 0 }, async (model) => {
      for (const prompt of prompts) expected.push(await complete(model, prompt));
    });
    await withModel(file, { ...options, contextSize: 8 * 1536, parallel: 8, draftMin: 2 }, async (model) => {
      if (!model.model.batchInvariant) return;
      for (const [i, prompt] of prompts.entries()) {
        assert.equal(await complete(model, prompt), expected[i], `${i} with drafts`);
        assert.equal(await complete(model, prompt), expected[i], `${i} from the cache`);
      }
      for (let first = 0; first < prompts.length; first += 7) {
        const eight = prompts.slice(first, first + 8);
        const given = await Promise.all(eight.map((prompt) => complete(model, prompt)));
        assert.equal(given, expected.slice(first, first + 8), `${first} beside others`);
      }
      assert.ok((await draftsOf(model)) > 20);
    });
  });
}

test.run();
