/** Models that keep a state per sequence, wholly or beside KV cells, and models with sliding windows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChatMessage, type GenerateRequest, loadModel, type Model, type ReplyFinish } from '../../ts/index.js';
import { seededRandom } from '../support/seeded-random.js';
import { type TinyModel, tinyModel } from '../support/tiny-model.js';

interface Answer {
  text: string;
  tokens: { id: number; top: readonly { id: number; logprob: number }[] }[];
  finish: ReplyFinish;
}

async function answer(model: Model, request: GenerateRequest): Promise<Answer> {
  let text = '';
  const tokens: Answer['tokens'] = [];
  const settings = { temperature: 0, maxTokens: 16, ignoreEos: true, topLogprobs: 2 };
  for await (const { id, text: piece, logprobs, finish } of model.generate({ ...settings, ...request })) {
    text += piece;
    tokens.push({ id, top: logprobs?.top ?? [] });
    if (finish) return { text, tokens, finish };
  }
  throw new Error('the stream ended without a finish');
}

/**
 * Token for token, as long as the most probable one is clear: random weights leave the choice between two to the
 * rounding of the kernels now and then, which is different for other batch shapes. A state or cell that does not belong
 * there moves the probabilities a hundred times as far.
 */
function assertSame(actual: Answer, expected: Answer, context: unknown) {
  for (const [i, { id, top }] of actual.tokens.entries()) {
    const other = expected.tokens[i] as Answer['tokens'][number];
    const [first, second] = top.map(({ logprob }) => logprob) as [number, number];
    const close = Math.abs(first - (other.top[0]?.logprob ?? 0)) < rounding;
    assert.ok(close, `${JSON.stringify({ i, top, other: other.top })} after ${JSON.stringify(context)}`);
    if (id === other.id) continue;
    assert.ok(first - second < rounding, `${JSON.stringify({ i, top, other: other.top })} ${JSON.stringify(context)}`);
    return;
  }
  assert.is(actual.tokens.length, expected.tokens.length);
}

type Options = { parallel: number; cacheRamMiB?: number };

async function withModel(name: TinyModel, options: Options, body: (model: Model) => Promise<void>) {
  const model = await loadModel(tinyModel(name), { contextSize: 2048, threads: 1, ...options });
  try {
    await body(model);
  } finally {
    await model.close();
  }
}

const rounding = 0.02;
const user = (content: string): ChatMessage => ({ role: 'user', content });
const system: ChatMessage = { role: 'system', content: 'You are a helpful assistant. '.repeat(20) };

/** Conversations that begin alike, branch and go on; some are left in the middle of an answer. */
async function converse(model: Model, seed: number): Promise<{ cached: number; computed: number }> {
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random() * n);
  const said = ['Hello', 'Count from 3 to 12.', 'Who are you? '.repeat(12), 'Repeat: red apple tree', 'Which port?'];
  const totals = { cached: 0, computed: 0 };
  const conversation = async () => {
    let messages: ChatMessage[] = below(2) === 0 ? [system] : [];
    for (let turn = 0; turn < 5; turn++) {
      if (below(3) === 0) messages = messages.slice(0, 1 + 2 * below(messages.length / 2));
      if (messages.at(-1)?.role !== 'user') messages.push(user(said[below(said.length)] as string));
      if (below(4) === 0) await leave(model, messages, below(8));
      const cached = await answer(model, { messages: [...messages] });
      const computed = await answer(model, { messages: [...messages], cachePrompt: false });
      assert.is(computed.finish.cachedTokens, 0);
      assertSame(cached, computed, messages);
      totals.cached += cached.finish.cachedTokens;
      totals.computed += cached.finish.promptTokens - cached.finish.cachedTokens;
      messages.push({ role: 'assistant', content: cached.text });
    }
  };
  for (let round = 0; round < 3; round++) await Promise.all([conversation(), conversation(), conversation()]);
  return totals;
}

async function leave(model: Model, messages: ChatMessage[], afterTokens: number) {
  const stream = model.generate({ messages, temperature: 0, ignoreEos: true });
  for (let i = 0; i < afterTokens; i++) await stream.next();
  await stream.return();
}

for (const name of ['mamba', 'jamba', 'gemma2'] as const) {
  test(`${name}: random conversations get the same answers with the cache as without, token for token`, () =>
    withModel(name, { parallel: 3 }, async (model) => {
      const { cached, computed } = await converse(model, 11);
      assert.ok(cached > computed, JSON.stringify({ cached, computed }));
    }));

  test(`${name}: with hardly any memory for snapshots as well`, () =>
    withModel(name, { parallel: 2, cacheRamMiB: 0.3 }, async (model) => {
      await converse(model, 12);
    }));

  test(`${name}: the next turn computes only what is new`, () =>
    withModel(name, { parallel: 1 }, async (model) => {
      const messages: ChatMessage[] = [system];
      for (let turn = 0; turn < 4; turn++) {
        messages.push(user(`Count from ${turn} to 9.`));
        const { text, finish } = await answer(model, { messages: [...messages] });
        const fresh = finish.promptTokens - finish.cachedTokens;
        if (turn > 0) assert.ok(fresh < 80, JSON.stringify(finish));
        messages.push({ role: 'assistant', content: text });
      }
    }));

  test(`${name}: instructions that several share are computed once`, () =>
    withModel(name, { parallel: 4 }, async (model) => {
      const { prompt } = await model.render([system]);
      const common = (await model.tokenize(prompt, { parseSpecial: true })).length;
      const asked = ['Hello', 'Who are you?', 'Count from 2 to 5.', 'Say the larger of 4 and 9.'];
      const answers = await Promise.all(asked.map((content) => answer(model, { messages: [system, user(content)] })));
      const computed = answers.map(({ finish }) => finish.promptTokens - finish.cachedTokens);
      assert.is(computed.filter((tokens) => tokens > common - 16).length, 1, JSON.stringify(computed));
      const later = await answer(model, { messages: [system, user('Goodbye')] });
      assert.ok(later.finish.cachedTokens > common - 16, JSON.stringify(later.finish));
    }));

  test(`${name}: the same prompt once more is hardly computed at all`, () =>
    withModel(name, { parallel: 1 }, async (model) => {
      for (const request of [{ messages: [system, user('Hello')] }, { prompt: 'one two three four '.repeat(20) }]) {
        const first = await answer(model, request);
        const again = await answer(model, request);
        assert.ok(again.finish.promptTokens - again.finish.cachedTokens <= 6, JSON.stringify(again.finish));
        assertSame(again, first, request);
      }
    }));
}

test.run();
