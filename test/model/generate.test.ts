import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../ts/errors.js';
import { type GenerateRequest, loadModel, type Model, type ReplyToken } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 256, parallel: 4, threads: 1 });
});
test.after(() => model.close());

async function tokensOf(request: GenerateRequest): Promise<ReplyToken[]> {
  const tokens: ReplyToken[] = [];
  for await (const token of model.generate(request)) tokens.push(token);
  return tokens;
}

async function textOf(request: GenerateRequest): Promise<string> {
  return (await tokensOf(request)).map((token) => token.text).join('');
}

const question: GenerateRequest = { messages: [{ role: 'user', content: 'Count from 3 to 9.' }], temperature: 0 };

test('a greedy answer stops by itself and is the same every time', async () => {
  const tokens = await tokensOf(question);
  const text = tokens.map((token) => token.text).join('');
  assert.match(text, /3.*4.*5.*6.*7.*8.*9/);
  assert.is(await textOf(question), text);
  const finish = tokens.at(-1)?.finish;
  assert.is(finish?.reason, 'stop');
  assert.is(finish?.stopString, null);
  assert.is(finish?.completionTokens, tokens.length);
  assert.ok(tokens.slice(0, -1).every((token) => token.finish === undefined));
});

test('the prompt is counted exactly', async () => {
  const rendered = await model.render([{ role: 'user', content: 'Hello' }]);
  const prompt = await model.tokenize(rendered.prompt, { addSpecial: true, parseSpecial: true });
  const tokens = await tokensOf({ messages: [{ role: 'user', content: 'Hello' }], maxTokens: 1 });
  assert.is(tokens.at(-1)?.finish?.promptTokens, prompt.length);
});

test('a prompt of token ids equals the same prompt as text', async () => {
  const { prompt } = await model.render([{ role: 'user', content: 'Hello' }]);
  const ids = [...(await model.tokenize(prompt, { addSpecial: true, parseSpecial: true }))];
  assert.is(await textOf({ prompt: ids, temperature: 0 }), await textOf({ prompt, temperature: 0 }));
});

test('max_tokens ends with length', async () => {
  const tokens = await tokensOf({ ...question, maxTokens: 3 });
  assert.is(tokens.length, 3);
  assert.is(tokens.at(-1)?.finish?.reason, 'length');
});

test('the end of the context ends with length', async () => {
  const prompt = Array.from({ length: 250 }, (_, i) => 40 + (i % 20));
  const finish = (await tokensOf({ prompt, ignoreEos: true })).at(-1)?.finish;
  assert.is(finish?.reason, 'length');
  assert.is((finish?.promptTokens ?? 0) + (finish?.completionTokens ?? 0), 256);
});

test('a banned token never comes, and a favoured one always', async () => {
  const favourite = (await model.tokenize('e'))[0] as number;
  for (const token of await tokensOf({ prompt: 'The', maxTokens: 5, logitBias: { [favourite]: 1000 } })) {
    assert.is(token.id, favourite);
  }
  const first = (await tokensOf({ ...question, maxTokens: 1 }))[0]?.id as number;
  const [other] = await tokensOf({ ...question, maxTokens: 1, logitBias: { [first]: -Infinity } });
  assert.is.not(other?.id, first);
});

test('a stop string ends the text before it', async () => {
  const whole = await textOf(question);
  const stop = whole.slice(4, 8);
  const tokens = await tokensOf({ ...question, stop: [stop] });
  assert.is(tokens.map((token) => token.text).join(''), whole.slice(0, whole.indexOf(stop)));
  assert.is(tokens.at(-1)?.finish?.stopString, stop);
  assert.is(tokens.at(-1)?.finish?.reason, 'stop');
});

test('the same seed gives the same text, other seeds give others', async () => {
  const draw = (seed: number) => textOf({ prompt: 'The', temperature: 2, maxTokens: 20, seed });
  assert.is(await draw(5), await draw(5));
  assert.ok(new Set(await Promise.all([1, 2, 3, 4].map(draw))).size > 1);
});

test('log-probabilities come when asked for, most probable first', async () => {
  const tokens = await tokensOf({ ...question, topLogprobs: 3, maxTokens: 5 });
  for (const token of tokens) {
    assert.is(token.logprobs?.top.length, 3);
    assert.is(token.logprobs?.top[0]?.id, token.id);
    assert.ok((token.logprobs?.logprob ?? 1) <= 0);
    assert.ok((token.logprobs?.top[0]?.logprob ?? 0) >= (token.logprobs?.top[1]?.logprob ?? 0));
  }
  const text = Buffer.concat(tokens.map((token) => Buffer.from(token.logprobs?.bytes ?? []))).toString();
  assert.is(text, tokens.map((token) => token.text).join(''));
  const without = await tokensOf({ ...question, maxTokens: 1 });
  assert.is(without[0]?.logprobs, undefined);
});

test('any text survives tokenizing: what is sent is what the model sees', async () => {
  for (const text of ['plain', 'ünïcödé 漢字 😀', '\u0000\u0007', ' '.repeat(50), '<|not special|>']) {
    const ids = await model.tokenize(text);
    assert.ok(ids.length > 0 && ids.every((id) => id >= 0 && id < model.model.vocabularySize));
  }
});

test('a prompt longer than the context is refused with both numbers', async () => {
  for (const prompt of [Array(256).fill(50), 'word '.repeat(5000), 'x'.repeat(10_000_000)]) {
    await tokensOf({ prompt }).then(
      () => assert.unreachable() as never,
      (error) => {
        assert.is(error.code, 'context_length_exceeded');
        assert.match(error.message, /\d+ tokens.* 256 /);
      },
    );
  }
});

test('jobs that make no sense are invalid_job', async () => {
  for (const prompt of [[], [-1], [model.model.vocabularySize]]) {
    await tokensOf({ prompt }).then(
      () => assert.unreachable() as never,
      (error) => assert.is(error.code, 'invalid_job'),
    );
  }
});

test('a conversation that the template refuses is template_failed', async () => {
  await model.render([{ role: 'nobody' as 'user', content: 'x' }]).then(
    ({ prompt }) => assert.type(prompt, 'string'),
    (error) => assert.is(error.code, 'template_failed'),
  );
});

test('a trailing assistant message is continued', async () => {
  const { prompt } = await model.render([
    { role: 'user', content: 'Count from 3 to 9.' },
    { role: 'assistant', content: '3, 4,' },
  ]);
  assert.ok(prompt.endsWith('3, 4,'), prompt);
});

test('unless a new message is asked for', async () => {
  const messages = [
    { role: 'user', content: 'Count from 3 to 9.' },
    { role: 'assistant', content: '3, 4,' },
  ] as const;
  const { prompt: alone } = await model.render(messages.slice(0, 1));
  const { prompt } = await model.render(messages, { continueFinalMessage: false });
  const [, beginning = ''] = /(<\S+>\s*\w+\s*)$/.exec(alone) ?? [];
  assert.ok(beginning !== '' && prompt.endsWith(beginning) && prompt.includes('3, 4,'), prompt);
});

test('a prompt that does not fit is told with both numbers', async () => {
  const { contextLength } = model.model;
  for (const prompt of [Array<number>(contextLength).fill(5), 'word '.repeat(100_000)]) {
    const error = await tokensOf({ prompt }).then(
      () => assert.unreachable() as never,
      (thrown: ChasquiError) => thrown,
    );
    assert.is(error.code, 'context_length_exceeded');
    assert.is(error.contextLength, contextLength);
    const least = Number(error.promptTokens);
    assert.ok(least >= contextLength && error.message.includes(` ${least} tokens, but`), error.message);
  }
});

test.run();
