// Perplexity, log-probabilities and token ids of real models beside those of llama.cpp without our patches and kernels.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Model } from '../../ts/index.js';
import { withModel } from '../support/answer.js';
import { root } from '../support/places.js';
import { gemma3, smolLM2 } from '../support/real-models.js';
import { idsOf, scoresOf, type TextScores } from './llama-cpp.js';
import { textsOfLanguages } from './texts.js';

/** Longer than the sliding window of Gemma. */
const SIZE = { chunkSize: 640, chunks: 2 };
/** Most of the probability; the rest counts as one token. */
const TOP = 500;
const folder = fs.mkdtempSync(path.join(root, 'build', 'real-distributions-'));
const inFolder = (name: string) => path.join(folder, name);
test.after(() => fs.rmSync(folder, { recursive: true }));

/** Prose and code. */
function writeSample(): string {
  const sources = ['README.md', 'include/llama.h', 'grammars/README.md', 'common/chat.cpp'];
  const read = (source: string) => fs.readFileSync(path.join(root, 'vendor', 'llama.cpp', source), 'utf8');
  fs.writeFileSync(inFolder('sample.txt'), sources.map((source) => read(source).slice(0, 2600)).join('\n'));
  return inFolder('sample.txt');
}

type Logprob = (id: number) => number;

/** The Kullback-Leibler divergence of `other` from `from`. Tokens that `ids` does not contain count as one token. */
function divergence(from: Logprob, other: Logprob, ids: readonly number[]): number {
  let sum = 0;
  let [rest, otherRest] = [1, 1];
  for (const id of ids) {
    const [p, q] = [Math.exp(from(id)), Math.exp(other(id))];
    sum += p * (from(id) - other(id));
    rest -= p;
    otherRest -= q;
  }
  return rest > 0 && otherRest > 0 ? sum + rest * Math.log(rest / otherRest) : sum;
}

/** One entry for each position of a text. */
interface Differences {
  /** How much less probable the next token is for us than for llama.cpp, in logarithms. */
  surprise: number[];
  /** Divergences from llama.cpp with flash attention. */
  ours: number[];
  withoutFlash: number[];
}

async function compare(model: Model, flash: TextScores, plain: TextScores): Promise<Differences> {
  const found: Differences = { surprise: [], ours: [], withoutFlash: [] };
  const [start] = await model.tokenize('', { addSpecial: true });
  for (const [chunk, tokens] of flash.chunks.entries()) {
    // Each chunk begins with the token that begins a text, if the model has one.
    const prompt = start === undefined ? Array.from(tokens) : [start, ...tokens.subarray(1)];
    const stream = model.generate({ prompt, promptLogprobs: TOP, temperature: 0, maxTokens: 1 });
    await stream.result();
    for (let at = flash.first; at < flash.chunkSize - 1; at++) {
      const { id, logprob, top } = stream.promptLogprobs[at] as (typeof stream.promptLogprobs)[number];
      const ours = new Map(top.map((each) => [each.id, each.logprob]));
      const ids = [...ours.keys()];
      const reference = flash.at(chunk, at);
      found.surprise.push(reference(id) - logprob);
      found.ours.push(divergence(reference, (each) => ours.get(each) as number, ids));
      found.withoutFlash.push(divergence(reference, plain.at(chunk, at), ids));
    }
  }
  return found;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value) / values.length;

/** The standard error of a mean. */
function error(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)) / values.length);
}

for (const [name, fetchModel] of [
  ['SmolLM2-135M', smolLM2],
  ['Gemma 3 270M', gemma3],
] as const) {
  test(`${name}: perplexity and log-probabilities`, async () => {
    const file = fetchModel();
    const sample = writeSample();
    const flash = scoresOf(file, sample, inFolder('flash.bin'), 'on', SIZE);
    const plain = scoresOf(file, sample, inFolder('plain.bin'), 'off', SIZE);
    await withModel(file, { contextSize: 1536, parallel: 1 }, async (model) => {
      const { surprise, ours, withoutFlash } = await compare(model, flash, plain);
      const excess = ours.map((value, i) => value - (withoutFlash[i] as number));
      const figures =
        `perplexity x ${Math.exp(mean(surprise))} (${error(surprise)}), divergence ${mean(ours)}, ` +
        `of flash attention ${mean(withoutFlash)} (${error(excess)})`;
      if (process.env.CHASQUI_REAL_FIGURES) console.log(figures);
      assert.ok(Math.abs(mean(surprise)) <= 3 * error(surprise) + mean(ours), figures);
      assert.ok(mean(excess) <= 2 * error(excess), figures);
    });
  });

  test(`${name}: token ids`, async () => {
    const file = fetchModel();
    const texts = textsOfLanguages().join('\n');
    fs.writeFileSync(inFolder('texts.txt'), texts);
    const expected = idsOf(file, inFolder('texts.txt'));
    await withModel(file, { contextSize: 256, parallel: 1 }, async (model) => {
      assert.equal(Array.from(await model.tokenize(texts)), expected);
    });
  });
}

test.run();
