import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Finish, type GenerateRequest, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

let plain: Model;
let guessing: Model;
test.before(async () => {
  const options = { contextSize: 512, parallel: 4, threads: 1 };
  plain = await loadModel(demoModelPath, options);
  guessing = await loadModel(demoModelPath, { ...options, draftMax: 8 });
});
test.after(async () => {
  await plain.close();
  await guessing.close();
});

async function answer(
  model: Model,
  request: GenerateRequest,
): Promise<{ text: string; ids: number[]; finish: Finish }> {
  let text = '';
  const ids: number[] = [];
  for await (const token of model.generate(request)) {
    text += token.text;
    ids.push(token.id);
    if (token.finish) return { text, ids, finish: token.finish };
  }
  throw new Error('the stream ended without a finish');
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
  assert.ok(after.decodeSteps - before.decodeSteps <= 101 - finish.acceptedTokens);
  assert.is(after.kvCellsUsed, 0);
});

test('limits hold in the middle of guesses that come true', async () => {
  const [id] = await guessing.tokenize('a');
  const repeating = { prompt: 'The', ignoreEos: true, logitBias: { [id as number]: 1000 } };
  for (const maxTokens of [7, 8, 9, 10, 23]) {
    assert.is((await answer(guessing, { ...repeating, maxTokens })).ids.length, maxTokens);
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

test('nobody guesses while more than two answers are running', async () => {
  const [id] = await guessing.tokenize('a');
  const repeating = { prompt: 'The', ignoreEos: true, logitBias: { [id as number]: 1000 } };
  const others = [guessing.generate(repeating), guessing.generate(repeating)];
  await Promise.all(others.map((stream) => stream.next()));
  const { finish } = await answer(guessing, { ...repeating, maxTokens: 30 });
  assert.is(finish.draftedTokens, 0);
  for (const stream of others) await stream.return();
});

test.run();
