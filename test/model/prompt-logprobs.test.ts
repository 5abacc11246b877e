import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TokenLogprobs } from '../../ts/engine/engine.js';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

const TEXT = 'Once upon a time there was a model that counted from 1 to 9, and then from 9 to 1 again. ';

let model: Model;
let prompt: number[];
/** Computed token by token: each prefix is a prompt, and forces the next token. */
let expected: number[];

test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 512, parallel: 2, threads: 1 });
  prompt = Array.from(await model.tokenize(TEXT.repeat(2), { addSpecial: true, parseSpecial: true }));
  expected = [];
  for (let length = 1; length < prompt.length; length += 1) {
    const forced = prompt[length] as number;
    const job = { prompt: prompt.slice(0, length), maxTokens: 1, topLogprobs: 0, logitBias: { [forced]: 1000 } };
    const [token] = await collect(job);
    assert.is(token?.id, forced);
    expected.push(token?.logprobs?.logprob as number);
  }
});
test.after(() => model.close());

async function collect(request: Parameters<Model['generate']>[0]) {
  const tokens = [];
  for await (const token of model.generate(request)) tokens.push(token);
  return tokens;
}

async function score(fields: object = {}): Promise<readonly TokenLogprobs[]> {
  const stream = model.generate({ prompt, promptLogprobs: 2, temperature: 0, maxTokens: 1, ...fields });
  const tokens = [];
  for await (const token of stream) tokens.push(token);
  assert.is(tokens.length, 1);
  assert.is(tokens[0]?.finish?.promptTokens, prompt.length);
  return stream.promptLogprobs;
}

function checkScores(found: readonly TokenLogprobs[]): void {
  assert.equal(
    found.map(({ id }) => id),
    prompt.slice(1),
  );
  found.forEach(({ logprob, top }, index) => {
    assert.ok(Math.abs(logprob - (expected[index] as number)) < 1e-3, `token ${index + 1}`);
    assert.is(top.length, 2);
    assert.ok((top[0]?.logprob as number) >= (top[1]?.logprob as number));
  });
}

test('the log-probabilities of a prompt equal those of its tokens computed one by one', async () => {
  checkScores(await score());
  checkScores(await score());
});

test('they are the same beside other completions, and do not change these', async () => {
  const other = { prompt: 'Count from 1 to 9.', temperature: 0, maxTokens: 60, ignoreEos: true };
  const alone = (await collect(other)).map(({ id }) => id);
  const [scored, first, second] = await Promise.all([score(), collect(other), score()]);
  checkScores(scored);
  checkScores(second);
  assert.equal(
    first.map(({ id }) => id),
    alone,
  );
});

test('control tokens have their names', async () => {
  const [control = 0] = model.model.endTokens;
  const [name] = await model.pieces([control]);
  const stream = model.generate({ prompt: [...prompt.slice(0, 3), control], promptLogprobs: 20, maxTokens: 1 });
  for await (const _ of stream);
  const scored = stream.promptLogprobs;
  assert.ok(name && name.length > 0);
  assert.equal(Buffer.from(scored[2]?.bytes ?? []), Buffer.from(name));
  const others = scored.flatMap(({ top }) => top).filter(({ bytes }) => bytes.length === 0);
  assert.equal(others, []);
});

test('a prompt of one token has none, and a job that does not ask gets none', async () => {
  assert.equal(await model.generate({ prompt: 'a', maxTokens: 1 }).promptLogprobs, []);
  const stream = model.generate({ prompt: prompt.slice(0, 1), promptLogprobs: 1, maxTokens: 1 });
  for await (const _ of stream);
  assert.equal(stream.promptLogprobs, []);
});

test('with one row of logits for each step they are the same', async () => {
  const other = await loadModel(demoModelPath, { contextSize: 512, parallel: 1, threads: 1, draftMax: 0 });
  try {
    const stream = other.generate({ prompt, promptLogprobs: 2, maxTokens: 1 });
    for await (const _ of stream);
    checkScores(stream.promptLogprobs);
  } finally {
    await other.close();
  }
});

test.run();
