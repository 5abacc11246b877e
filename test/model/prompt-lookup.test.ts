import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type GenerateRequest,
  grammarOf,
  type LoadOptions,
  loadModel,
  type Model,
  type ReplyToken,
} from '../../ts/index.js';
import { answer } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';
import { tinyModel } from '../support/tiny-model.js';

let plain: Model;
let guessing: Model;
test.before(async () => {
  const options = { contextSize: 512, parallel: 4, threads: 1 };
  plain = await loadModel(demoModelPath, { ...options, draftMax: 0 });
  // Whether guesses pay depends on the machine, so they are made in any case.
  guessing = await loadModel(demoModelPath, { ...options, draftMax: 16, draftMin: 8 });
});
test.after(async () => {
  await plain.close();
  await guessing.close();
});

async function tokensOf(model: Model, request: GenerateRequest): Promise<ReplyToken[]> {
  const tokens: ReplyToken[] = [];
  for await (const token of model.generate(request)) tokens.push(token);
  return tokens;
}

const ask = (content: string): GenerateRequest => ({ messages: [{ role: 'user', content }], temperature: 0 });
const quoting = ask('Repeat: red house small river green garden');
const counting = ask('Count from 3 to 15.');

test('guessed or not, the answer is the same, token for token', async () => {
  for (const request of [quoting, counting, { prompt: 'The cat and the cat and', temperature: 0, maxTokens: 60 }]) {
    const expected = await answer(plain, request);
    const guessed = await answer(guessing, request);
    assert.equal(guessed.ids, expected.ids);
    assert.is(guessed.text, expected.text);
    assert.is(guessed.finish.completionTokens, expected.finish.completionTokens);
    assert.is(guessed.finish.reason, expected.finish.reason);
  }
});

test('guesses that come true save steps', async () => {
  const before = await guessing.stats();
  // Favouring one token makes the text repeat itself, which is what is guessed.
  const [id] = await guessing.tokenize('a');
  const request = { prompt: 'The', maxTokens: 100, ignoreEos: true, logitBias: { [id as number]: 1000 } };
  const { ids, finish } = await answer(guessing, request);
  const after = await guessing.stats();
  assert.is(ids.length, 100);
  assert.ok(finish.acceptedTokens > 50, JSON.stringify(finish));
  assert.ok(finish.acceptedTokens <= finish.draftedTokens);
  const steps = after.decodeSteps - before.decodeSteps;
  assert.ok(steps <= 101 - finish.acceptedTokens);
  assert.is(after.busySlots - before.busySlots, steps, 'one sequence in each step');
  const drafts = after.drafts - before.drafts;
  assert.ok(drafts > 0 && drafts < steps && drafts <= finish.draftedTokens, `${drafts} drafts in ${steps} steps`);
  assert.is(after.kvCellsUsed, 0);
});

test('limits hold in the middle of guesses that come true', async () => {
  const [id] = await guessing.tokenize('a');
  const repeating = { prompt: 'The', ignoreEos: true, logitBias: { [id as number]: 1000 } };
  for (const maxTokens of [7, 8, 9, 10, 23]) {
    const { ids, finish } = await answer(guessing, { ...repeating, maxTokens });
    assert.is(ids.length, maxTokens);
    // All of them come true, so none was made that the completion has no room for.
    assert.is(finish.draftedTokens, finish.acceptedTokens, `${maxTokens}`);
  }
  const full = await answer(guessing, repeating);
  assert.is(full.finish.promptTokens + full.finish.completionTokens, 512);
  const stopped = await answer(guessing, { ...repeating, stop: ['aaaaaaaaaaaa'] });
  assert.is(stopped.finish.stopString, 'aaaaaaaaaaaa');
});

test('a conversation goes on correctly after guesses that failed', async () => {
  const messages = [{ role: 'user' as const, content: 'Count from 3 to 15.' }];
  for (const model of [plain, guessing]) await answer(model, { messages, temperature: 0 });
  const next = { ...ask('Count from 4 to 9.') };
  assert.is((await answer(guessing, next)).text, (await answer(plain, next)).text);
});

test('a loaded model guesses unless told otherwise; no guesses with `deterministic`, nor where none can be taken back', async () => {
  const options = { contextSize: 512, parallel: 2, threads: 1 };
  const always = { draftMin: 4 };
  const drafted = async (path: string, more: LoadOptions) => {
    const model = await loadModel(path, { ...options, ...more });
    const [id] = await model.tokenize('a');
    const repeating = { prompt: 'The', maxTokens: 120, ignoreEos: true, logitBias: { [id as number]: 1000 } };
    const { ids, finish } = await answer(model, repeating);
    await model.close();
    assert.is(ids.length, 120);
    return finish.draftedTokens;
  };
  assert.ok((await drafted(demoModelPath, always)) > 50);
  assert.is(await drafted(demoModelPath, { ...always, draftMax: 0 }), 0);
  assert.is(await drafted(demoModelPath, { ...always, deterministic: true }), 0);
  assert.is(await drafted(tinyModel('mamba'), always), 0);
});

test('two answers at a time are guessed, each by its own text', async () => {
  const before = await guessing.stats();
  const ids = (await Promise.all(['a', 'b'].map((text) => guessing.tokenize(text)))).map(([id]) => id as number);
  const both = await Promise.all(
    ids.map((id) => answer(guessing, { prompt: 'The', maxTokens: 200, ignoreEos: true, logitBias: { [id]: 1000 } })),
  );
  both.forEach((each, i) => {
    assert.equal(each.ids, Array(200).fill(ids[i]));
    assert.ok(each.finish.acceptedTokens > 50, JSON.stringify(each.finish));
  });
  const total = (count: (one: (typeof both)[number]) => number) => both.reduce((n, each) => n + count(each), 0);
  const { draftedTokens, acceptedTokens, completionTokens } = await guessing.stats();
  assert.is(
    draftedTokens - before.draftedTokens,
    total(({ finish }) => finish.draftedTokens),
  );
  assert.is(
    acceptedTokens - before.acceptedTokens,
    total(({ finish }) => finish.acceptedTokens),
  );
  assert.is(completionTokens - before.completionTokens, 400);
});

test('with a seed the same text comes to the last bit, and nothing is guessed where that could change it', async () => {
  const words = 'one two three four five six seven eight nine ten ';
  const prompt = words.repeat(3);
  for (const more of [
    { temperature: 1, seed: 1 },
    { temperature: 2, seed: 2 },
    { temperature: 0, seed: 0 },
  ]) {
    const request = { prompt, maxTokens: 60, ignoreEos: true, topLogprobs: 2, cachePrompt: false, ...more };
    const [expected, seeded] = [await tokensOf(plain, request), await tokensOf(guessing, request)];
    assert.equal(
      seeded.map(({ id, logprobs }) => [id, logprobs?.logprob]),
      expected.map(({ id, logprobs }) => [id, logprobs?.logprob]),
    );
    if (!guessing.model.batchInvariant) assert.is(seeded.at(-1)?.finish?.draftedTokens, 0);
  }
  const { finish } = await answer(guessing, { prompt, maxTokens: 60, ignoreEos: true, temperature: 0 });
  assert.ok(finish.draftedTokens > 0, 'guesses without a seed');
});

test('beside one that has a seed another is guessed', async () => {
  const [id] = await guessing.tokenize('a');
  const repeating = { prompt: 'The', maxTokens: 150, ignoreEos: true, logitBias: { [id as number]: 1000 } };
  const [seeded, other] = await Promise.all([answer(guessing, { ...repeating, seed: 1 }), answer(guessing, repeating)]);
  assert.equal(seeded.ids, other.ids);
  if (!guessing.model.batchInvariant) assert.is(seeded.finish.draftedTokens, 0);
  assert.ok(other.finish.acceptedTokens > 50, JSON.stringify(other.finish));
});

test('with log-probabilities, penalties or a grammar, what is guessed changes nothing', async () => {
  const path = tinyModel('llama');
  const options = { contextSize: 1024, parallel: 2, threads: 1 };
  const [without, withGuesses] = [
    await loadModel(path, { ...options, draftMax: 0 }),
    await loadModel(path, { ...options, draftMax: 16, draftMin: 4 }),
  ];
  const words = 'one two three four five six seven eight nine ten ';
  const [id] = await without.tokenize('a');
  const repeated: GenerateRequest = { prompt: words.repeat(3), maxTokens: 90, ignoreEos: true, topLogprobs: 2 };
  const requests: GenerateRequest[] = [
    { ...repeated, temperature: 0 },
    // A draw among one token needs no seed to be the same.
    { ...repeated, temperature: 1, topK: 1, repeatPenalty: 1.1 },
    { ...repeated, temperature: 1, logitBias: { [id as number]: 1000 } },
    { ...repeated, temperature: 0, grammar: grammarOf(`root ::= ("${words}")+`) },
  ];
  let accepted = 0;
  for (const request of requests) {
    const expected = await tokensOf(without, request);
    const guessed = await tokensOf(withGuesses, request);
    assert.equal(
      guessed.map(({ id }) => id),
      expected.map(({ id }) => id),
    );
    guessed.forEach(({ logprobs }, i) => {
      const other = expected[i]?.logprobs?.logprob as number;
      assert.ok(Math.abs((logprobs?.logprob as number) - other) < 1e-3, `${logprobs?.logprob} and ${other}`);
    });
    accepted += guessed.at(-1)?.finish?.acceptedTokens ?? 0;
  }
  assert.ok(accepted > 20, `${accepted} guesses that came true`);
  for (const model of [without, withGuesses]) await model.close();
});

test('no drafts are made while more than two completions are running', async () => {
  const [id] = await guessing.tokenize('a');
  const repeating = { prompt: 'The', ignoreEos: true, logitBias: { [id as number]: 1000 } };
  const others = [guessing.generate(repeating), guessing.generate(repeating)];
  await Promise.all(others.map((stream) => stream.next()));
  const { finish } = await answer(guessing, { ...repeating, maxTokens: 30 });
  assert.is(finish.draftedTokens, 0);
  for (const stream of others) await stream.return();
});

test.run();
