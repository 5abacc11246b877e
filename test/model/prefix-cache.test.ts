import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ChatMessage,
  type GenerateRequest,
  type LoadOptions,
  loadModel,
  type Model,
  type ReplyFinish,
} from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

interface Answer {
  text: string;
  finish: ReplyFinish;
}

async function answer(model: Model, request: GenerateRequest): Promise<Answer> {
  let text = '';
  for await (const token of model.generate({ temperature: 0, maxTokens: 24, ...request })) {
    text += token.text;
    if (token.finish) return { text, finish: token.finish };
  }
  throw new Error('the stream ended without a finish');
}

async function withModel(options: LoadOptions, body: (model: Model) => Promise<void>) {
  const model = await loadModel(demoModelPath, { contextSize: 1024, threads: 1, ...options });
  try {
    await body(model);
  } finally {
    await model.close();
  }
}

const system: ChatMessage = { role: 'system', content: 'You are a helpful assistant. '.repeat(12) };
const ask = (content: string): ChatMessage[] => [system, { role: 'user', content }];

test('the next turn computes only what is new', () =>
  withModel({ parallel: 2 }, async (model) => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'Count from 1 to 5.' }];
    for (let turn = 0; turn < 4; turn++) {
      const { text, finish } = await answer(model, { messages });
      if (turn > 0) assert.ok(finish.promptTokens - finish.cachedTokens < 30, JSON.stringify(finish));
      messages.push({ role: 'assistant', content: text }, { role: 'user', content: `Count from ${turn} to 9.` });
    }
  }));

test('prompts that arrive together compute their common beginning once', () =>
  withModel({ parallel: 4 }, async (model) => {
    const { prompt } = await model.render([system]);
    const common = (await model.tokenize(prompt, { parseSpecial: true })).length;
    const questions = ['Hello', 'Who are you?', 'Count from 2 to 5.', 'Say the larger of 4 and 9.'];
    const answers = await Promise.all(questions.map((question) => answer(model, { messages: ask(question) })));
    const computed = answers.map(({ finish }) => finish.promptTokens - finish.cachedTokens);
    assert.is(computed.filter((tokens) => tokens > common - 8).length, 1, JSON.stringify(computed));
  }));

test('conversations that take turns in one slot are saved and found again', () =>
  withModel({ parallel: 1 }, async (model) => {
    const mine: GenerateRequest = { messages: [{ role: 'user', content: 'Hello. '.repeat(30) }] };
    const yours: GenerateRequest = { messages: [{ role: 'user', content: 'Goodbye. '.repeat(30) }] };
    const first = await answer(model, mine);
    await answer(model, yours);
    const again = await answer(model, mine);
    assert.is(again.finish.cachedTokens, again.finish.promptTokens - 1);
    assert.is(again.text, first.text);
  }));

test('with no memory to save them they are computed again', () =>
  withModel({ parallel: 1, cacheRamMiB: 0 }, async (model) => {
    const mine: GenerateRequest = { messages: [{ role: 'user', content: 'Hello. '.repeat(30) }] };
    await answer(model, mine);
    await answer(model, { messages: [{ role: 'user', content: 'Goodbye. '.repeat(30) }] });
    const again = await answer(model, mine);
    assert.ok(again.finish.cachedTokens < 16, JSON.stringify(again.finish));
  }));

test('random conversations give the same answers with the cache as without, token for token', () =>
  withModel({ parallel: 3 }, async (model) => {
    let state = 7;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    const openings = ['Hello', 'Count from 3 to 12.', 'Who are you?', 'Repeat: red apple tree', 'Which port?'];
    const conversation = async () => {
      const messages: ChatMessage[] = random(2) === 0 ? [system] : [];
      for (let turn = 0; turn < 3; turn++) {
        messages.push({ role: 'user', content: openings[random(openings.length)] as string });
        const cached = await answer(model, { messages: [...messages] });
        const computed = await answer(model, { messages: [...messages], cachePrompt: false });
        assert.is(computed.finish.cachedTokens, 0);
        assert.is(cached.text, computed.text, JSON.stringify(messages));
        messages.push({ role: 'assistant', content: cached.text });
      }
    };
    for (let round = 0; round < 5; round++) await Promise.all([conversation(), conversation(), conversation()]);
  }));

test('a higher priority goes first, and the request that had to wait gets the same answer as ever', () =>
  withModel({ parallel: 1, contextSize: 65_536 }, async (model) => {
    const slow: GenerateRequest = { messages: ask('Hello'), ignoreEos: true, temperature: 0 };
    let text = '';
    let urgent: Promise<void> | undefined;
    let left = Number.POSITIVE_INFINITY;
    // It has tokens for a minute: the urgent one is answered first, however late it is submitted.
    for await (const token of model.generate({ ...slow, maxTokens: 60_000 })) {
      assert.not(token.finish, 'the slow one ended before the urgent one');
      text += token.text;
      urgent ??= answer(model, { messages: ask('Count from 1 to 3.'), priority: 1 }).then(() => {
        left = 20;
      });
      left -= 1;
      if (left <= 0) break;
    }
    await urgent;
    const undisturbed = await answer(model, { ...slow, maxTokens: text.length, cachePrompt: false });
    assert.ok(undisturbed.text.startsWith(text), `${text}\n${undisturbed.text}`);
  }));

/** After some letters there are so many ways to go on that the grammar gives up. */
const doubling = 'root ::= s\ns ::= [a-z] s "y" | [a-z] s "z" | "#"\n';

test('a prompt whose completion a grammar ends stays cached', () =>
  withModel({ parallel: 1, cacheRamMiB: 0 }, async (model) => {
    const prompt = 'Words and more words. '.repeat(20);
    const [letter] = await model.tokenize('a');
    const grammar = { gbnf: doubling, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
    const failure = await answer(model, {
      prompt,
      grammar,
      logitBias: { [letter as number]: 100 },
      maxTokens: 60,
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.is((failure as { code?: string } | undefined)?.code, 'invalid_grammar', String(failure));
    const { finish } = await answer(model, { prompt, maxTokens: 2 });
    assert.is(finish.cachedTokens, finish.promptTokens - 1);
  }));

test.run();
