import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChasquiError, type GenerateRequest, type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { type Answer, answer as answerOf, withModel as withLoadedModel } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';
import { copyGguf, readEntries, uint32Entry } from '../support/gguf.js';
import { writeAssistant, writeDecoder } from '../support/random-model.js';
import { seededRandom } from '../support/seeded-random.js';
import { tinyModel } from '../support/tiny-model.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'draft-model-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const base = { contextSize: 512, parallel: 4, threads: 1 };
/** Without it drafts would come from the text so far. */
const none = { draftMax: 0 };
/** Same vocabulary, other thoughts: none of its guesses comes true but by chance. */
const stranger = tinyModel('llama', 2);
/** Hardly ever sure of what comes next; computed in other batches it comes out the same, as its weights are floats. */
const own = tinyModel('llama');

const answer = (model: Model, request: GenerateRequest) => answerOf(model, { temperature: 0, ...request });
const withModel = (path: string, options: LoadOptions, body: (model: Model) => Promise<void>) =>
  withLoadedModel(path, { ...base, ...options }, body);

const ask = (content: string): GenerateRequest => ({ messages: [{ role: 'user', content }] });
const requests: GenerateRequest[] = [
  ask('Count from 3 to 15.'),
  ask('Who are you?'),
  ask('Repeat: red house small river green garden'),
  { prompt: 'The cat and the dog', maxTokens: 60, ignoreEos: true },
  { ...ask('Which port? '.repeat(40)), maxTokens: 40, ignoreEos: true },
];

/** Requests without repetitions, so prompt lookup finds no drafts. */
const varied = requests.slice(0, 2);

async function answers(options: LoadOptions, asked = requests): Promise<Answer[]> {
  const all: Answer[] = [];
  await withModel(demoModelPath, options, async (model) => {
    for (const request of asked) all.push(await answer(model, request));
  });
  return all;
}

const sum = (all: Answer[], count: (finish: Answer['finish']) => number) =>
  all.reduce((n, { finish }) => n + count(finish), 0);

test('a model that is its own draft guesses right, and the answers are the same, token for token', async () => {
  const plain = await answers(none);
  const guessed = await answers({ draftModel: demoModelPath });
  assert.equal(
    guessed.map(({ ids }) => ids),
    plain.map(({ ids }) => ids),
  );
  const drafted = sum(guessed, (finish) => finish.draftedTokens);
  const accepted = sum(guessed, (finish) => finish.acceptedTokens);
  assert.ok(accepted > sum(plain, (finish) => finish.completionTokens) / 2, JSON.stringify({ drafted, accepted }));
  assert.ok(accepted >= 0.9 * drafted, JSON.stringify({ drafted, accepted }));
  assert.is(
    sum(plain, (finish) => finish.draftedTokens),
    0,
  );
});

test('a draft model that is always wrong changes nothing but the counts', async () => {
  const plain = await answers(none, varied);
  const guessed = await answers({ draftModel: stranger }, varied);
  assert.equal(
    guessed.map(({ ids }) => ids),
    plain.map(({ ids }) => ids),
  );
  const drafted = sum(guessed, (finish) => finish.draftedTokens);
  const accepted = sum(guessed, (finish) => finish.acceptedTokens);
  assert.ok(drafted > 0 && accepted <= 0.1 * drafted, JSON.stringify({ drafted, accepted }));
  // It is hardly asked any more once it has failed.
  assert.ok(drafted < sum(plain, (finish) => finish.completionTokens), JSON.stringify({ drafted }));
});

test('guesses that come true save steps', () =>
  withModel(demoModelPath, { draftModel: demoModelPath, draftMax: 4 }, async (model) => {
    const before = await model.stats();
    const { finish } = await answer(model, { prompt: 'The cat', maxTokens: 61, ignoreEos: true });
    const after = await model.stats();
    assert.is(finish.completionTokens, 61);
    assert.ok(after.decodeSteps - before.decodeSteps <= 62 - finish.acceptedTokens);
    assert.ok(after.decodeSteps - before.decodeSteps < 30, JSON.stringify(finish));
    assert.is(after.kvCellsUsed, 0);
  }));

test('drawn with a seed, answers are the same with guesses as without', async () => {
  const drawn = requests.map((request, seed) => ({ ...request, temperature: 0.9, topK: 20, seed }));
  const texts: string[][] = [];
  for (const options of [none, { draftModel: demoModelPath }, { draftModel: stranger, draftMax: 3 }]) {
    await withModel(demoModelPath, options, async (model) => {
      const all: string[] = [];
      for (const request of drawn) all.push((await answer(model, request)).text);
      texts.push(all);
    });
  }
  assert.equal(texts[1], texts[0]);
  assert.equal(texts[2], texts[0]);
});

test('after a wrong guess only what is new is computed for the next', () =>
  withModel(own, { draftModel: own, draftMax: 4, contextSize: 2048 }, async (model) => {
    // Longer than one step of the draft model: starting over would take several steps without drafts.
    const drawn = { prompt: 'Which port? '.repeat(200), temperature: 0.02, topK: 40, seed: 5, maxTokens: 150 };
    const { finish } = await answer(model, { ...drawn, ignoreEos: true });
    const steps = finish.completionTokens - finish.acceptedTokens;
    assert.ok(finish.draftedTokens - finish.acceptedTokens > 15, JSON.stringify(finish));
    assert.ok(finish.draftedTokens > 3 * steps, JSON.stringify({ ...finish, steps }));
  }));

test('limits hold in the middle of guesses that come true', () =>
  withModel(demoModelPath, { draftModel: demoModelPath }, async (model) => {
    for (const maxTokens of [1, 2, 7, 8, 9, 10, 23]) {
      const { ids } = await answer(model, { prompt: 'The cat', ignoreEos: true, maxTokens });
      assert.is(ids.length, maxTokens);
    }
    const full = await answer(model, { prompt: 'The cat', ignoreEos: true });
    assert.is(full.finish.promptTokens + full.finish.completionTokens, 512);
  }));

test('prompts longer than a step of the draft model, two at a time, cancelled and gone on with', async () => {
  const options = { contextSize: 2048, parallel: 2 };
  const random = seededRandom(3);
  const below = (n: number) => Math.floor(random() * n);
  const beginnings = ['Count from 1 to 9. '.repeat(60), 'Which port? '.repeat(90), 'Hello'];
  const work = Array.from({ length: 16 }, () => ({
    prompt: `${beginnings[below(3)]}${below(9)}`,
    maxTokens: 12 + below(20),
    ignoreEos: true,
    leaveAfter: below(3) === 0 ? below(10) : -1,
  }));
  const run = async (more: LoadOptions) => {
    const ids: number[][] = [];
    await withModel(own, { ...options, ...more }, async (model) => {
      const worker = async (first: number) => {
        for (let i = first; i < work.length; i += 2) {
          const { leaveAfter, ...request } = work[i] as (typeof work)[number];
          if (leaveAfter < 0) ids[i] = (await answer(model, request)).ids;
          else await leave(model, request, leaveAfter);
        }
      };
      await Promise.all([worker(0), worker(1)]);
      assert.is((await model.stats()).active, 0);
    });
    return ids;
  };
  assert.equal(await run({ draftModel: own }), await run(none));
});

async function leave(model: Model, request: GenerateRequest, afterTokens: number) {
  const stream = model.generate({ ...request, temperature: 0 });
  for (let i = 0; i < afterTokens; i++) await stream.next();
  await stream.return();
}

test('no drafts are made while more than two completions are running', () =>
  withModel(demoModelPath, { draftModel: demoModelPath }, async (model) => {
    const endless = { prompt: 'The cat', ignoreEos: true, temperature: 0 };
    const others = [model.generate(endless), model.generate(endless)];
    await Promise.all(others.map((stream) => stream.next()));
    const { finish } = await answer(model, { prompt: 'A dog', maxTokens: 20, ignoreEos: true });
    assert.is(finish.draftedTokens, 0);
    for (const stream of others) await stream.return();
  }));

test('guesses shorter than draftMin are not checked, improbable ones not made', async () => {
  const request = ask('Count from 3 to 15.');
  const counts: number[] = [];
  for (const draftPMin of [0, 1]) {
    await withModel(demoModelPath, { draftModel: stranger, draftPMin }, async (model) => {
      counts.push((await answer(model, request)).finish.draftedTokens);
    });
  }
  assert.ok((counts[0] as number) > 0);
  assert.is(counts[1], 0);
  await withModel(demoModelPath, { draftModel: demoModelPath, draftMax: 6, draftMin: 6 }, async (model) => {
    const { finish } = await answer(model, request);
    assert.is(finish.draftedTokens % 6, 0, JSON.stringify(finish));
    assert.ok(finish.acceptedTokens > 10, JSON.stringify(finish));
  });
});

test('a draft model that cannot guess for the model is refused at the start, with both names', async () => {
  const others = path.join(path.dirname(demoModelPath), '..', '..', 'vendor', 'llama.cpp', 'models');
  const llama = tinyModel('llama', 3, path.join(others, 'ggml-vocab-llama-spm.gguf'));
  const refused = async (model: string, draftModel: string, more: LoadOptions = {}, code = 'invalid_options') => {
    const error = await loadModel(model, { ...base, draftModel, ...more }).then(
      () => assert.unreachable('it was not refused'),
      (error: ChasquiError) => error,
    );
    assert.is(error?.code, code, error?.message);
    return error?.message ?? '';
  };
  const message = await refused(demoModelPath, llama);
  for (const part of [demoModelPath, llama, 'vocabularies']) assert.ok(message.includes(part), message);
  assert.match(await refused(demoModelPath, tinyModel('mamba')), /recurrent/);
  assert.match(await refused(tinyModel('mamba'), demoModelPath), /recurrent/);
  assert.match(await refused(demoModelPath, demoModelPath, { deterministic: true }), /deterministic/);
  assert.match(await refused(demoModelPath, demoModelPath, { draftMax: 0 }), /`draftMax`/);
  assert.match(await refused(demoModelPath, '/no/such.gguf', {}, 'model_file_missing'), /no.such/);
});

test('a draft model that llama.cpp cannot compute is refused for what it is', async () => {
  const target = writeDecoder(path.join(folder, 'target.gguf'));
  const failure = (draftModel: string) =>
    loadModel(target, { ...base, draftModel }).then(
      () => 'nothing',
      (error: ChasquiError) => `${error.code}: ${error.message}`,
    );
  assert.match(
    await failure(writeAssistant(path.join(folder, 'head.gguf'))),
    /^invalid_options: .*\(gemma4-assistant\)/,
  );
  const damaged = path.join(folder, 'damaged.gguf');
  copyGguf(target, damaged, [...readEntries(target), uint32Entry('qwen2.rope.dimension_count', 8)]);
  assert.match(await failure(damaged), /^model_load_failed: .*GGML_ASSERT/);
});

test.run();
