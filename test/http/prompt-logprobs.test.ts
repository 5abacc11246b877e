import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TokenLogprob, TokenLogprobs } from '../../ts/engine/engine.js';
import type { Job } from '../../ts/engine/job.js';
import { testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { LOGPROB_BATCHES } from '../support/logprob-tokens.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: log-probabilities of prompts');

const URL = '/v1/completions';
const body = (fields: object = {}) => ({ model: 'fake', prompt: 'Oné', ...fields });

const alternative: TokenLogprob = { id: 120, bytes: Uint8Array.from([120]), logprob: -0.25 };

/** A token is a byte, and the next one is an `x` most of the time. */
function promptLogprobs({ prompt, promptLogprobs: count }: Job): TokenLogprobs[] {
  if (count === null) return [];
  return (prompt as number[]).slice(1).map((id, index) => {
    return { id, bytes: Uint8Array.of(id), logprob: -1 - index, top: count === 0 ? [] : [alternative] };
  });
}

const scored = () => testApp({ promptLogprobs, batches: () => LOGPROB_BATCHES });

test('echo with logprobs begins the columns with those of the prompt', async () => {
  const { send, engine } = scored();
  const { choices, usage } = (await send(URL, body({ echo: true, logprobs: 1 }))).json();
  assert.equal(engine.jobs[0]?.prompt, [...Buffer.from('Oné')]);
  assert.is(engine.jobs[0]?.promptLogprobs, 1);
  assert.is(choices[0].text, 'Onéhé');
  const { tokens, token_logprobs, top_logprobs, text_offset } = choices[0].logprobs;
  assert.equal(tokens, ['O', 'n', '\ufffd', '\ufffd', 'h', '\ufffd', '\ufffd', '']);
  assert.equal(token_logprobs, [null, -1, -2, -3, -0.5, -1, -9999, -0.1]);
  assert.equal(top_logprobs.slice(0, 3), [null, { x: -0.25 }, { x: -0.25 }]);
  assert.is(top_logprobs.length, tokens.length);
  assert.equal(text_offset, [0, 1, 2, 2, 3, 4, 4, 5]);
  assert.equal([usage.prompt_tokens, usage.completion_tokens], [5, 4]);
});

test('a stream has them in the first chunk of each choice', async () => {
  const { send } = scored();
  const fields = { prompt: [[79, 110], [104]], echo: true, logprobs: 0, stream: true, n: 2 };
  const { events } = readSse((await send(URL, body(fields))).body);
  const ofChoice = (index: number) =>
    events.flatMap(({ choices }) => choices.filter((each: { index: number }) => each.index === index));
  for (const [index, expected] of [['O', 'n'], ['O', 'n'], ['h'], ['h']].entries()) {
    const chunks = ofChoice(index);
    assert.equal(chunks[0]?.logprobs.tokens.slice(0, expected.length), expected);
    assert.is(chunks.flatMap(({ logprobs }) => logprobs?.tokens ?? []).length, expected.length + 4);
  }
});

test('max_tokens 0 only reads the prompt', async () => {
  const { send, engine } = scored();
  const { choices, usage } = (await send(URL, body({ echo: true, logprobs: 0, max_tokens: 0 }))).json();
  assert.is(engine.jobs[0]?.maxTokens, 1);
  assert.equal(choices[0].logprobs.token_logprobs, [null, -1, -2, -3]);
  assert.equal([choices[0].text, choices[0].finish_reason], ['Oné', 'length']);
  assert.equal([usage.completion_tokens, usage.total_tokens], [0, 5]);
  const plain = (await send(URL, body({ max_tokens: 0 }))).json();
  assert.equal(plain.choices, [{ index: 0, text: '', logprobs: null, finish_reason: 'length' }]);
  const { events, done } = readSse((await send(URL, body({ max_tokens: 0, stream: true }))).body);
  assert.ok(done);
  assert.equal(
    events.flatMap(({ choices: [choice] }) => [choice.text, choice.finish_reason]),
    ['', 'length'],
  );
});

test('prompt_logprobs has the form of vLLM', async () => {
  const { send } = scored();
  const { choices } = (await send(URL, body({ prompt: 'ax', prompt_logprobs: 1 }))).json();
  assert.equal(choices[0].prompt_logprobs, [null, { 120: { logprob: -0.25, rank: 1, decoded_token: 'x' } }]);
  const other = (await send(URL, body({ prompt: 'ab', prompt_logprobs: 1 }))).json();
  assert.equal(other.choices[0].prompt_logprobs[1], {
    98: { logprob: -1, rank: null, decoded_token: 'b' },
    120: { logprob: -0.25, rank: 1, decoded_token: 'x' },
  });
  const without = (await send(URL, body({ prompt_logprobs: null }))).json();
  assert.not.ok('prompt_logprobs' in without.choices[0]);
});

test('whole chats have them beside the choices, as in vLLM', async () => {
  const app = testApp({
    promptLogprobs: ({ promptLogprobs: count }) =>
      count === null ? [] : [{ id: 98, bytes: Uint8Array.of(98), logprob: -1, top: [alternative] }],
  });
  const whole = (await app.chat({ prompt_logprobs: 1 })).json();
  assert.is(app.engine.jobs[0]?.promptLogprobs, 1);
  assert.equal(whole.prompt_logprobs, [
    null,
    { 98: { logprob: -1, rank: null, decoded_token: 'b' }, 120: { logprob: -0.25, rank: 1, decoded_token: 'x' } },
  ]);
  assert.not.ok('prompt_logprobs' in (await app.chat({ prompt_logprobs: null })).json());
  const jobs = app.engine.jobs.length;
  const tooLong = [{ role: 'user', content: 'x'.repeat(4000) }];
  expectError(await app.chat({ prompt_logprobs: 1, stream: true }), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'prompt_logprobs',
  });
  expectError(await app.chat({ prompt_logprobs: 21 }), refusal('prompt_logprobs'));
  expectError(await app.chat({ prompt_logprobs: 20, n: 100, messages: tooLong }), refusal('messages'));
  assert.is(app.engine.jobs.length, jobs);
});

test('tokens that the text does not contain are at its beginning', async () => {
  const { send, engine } = scored();
  engine.tokenize = async (text) => Int32Array.of(60, 62, ...Buffer.from(text));
  const { choices } = (await send(URL, body({ prompt: 'ab', echo: true, logprobs: 0 }))).json();
  assert.is(choices[0].text, 'abhé');
  assert.equal(choices[0].logprobs.tokens.slice(0, 5), ['<', '>', 'a', 'b', 'h']);
  assert.equal(choices[0].logprobs.text_offset.slice(0, 5), [0, 0, 0, 1, 2]);
});

const REFUSED: [name: string, fields: object, expected: ExpectedError][] = [
  ['too many', { prompt: Array(100).fill('x'.repeat(4000)), echo: true, logprobs: 1 }, refusal('prompt')],
  ['too many with n', { prompt: 'x'.repeat(4000), n: 100, prompt_logprobs: 0 }, refusal('prompt')],
  ['too many alternatives', { prompt_logprobs: 21 }, refusal('prompt_logprobs')],
  ['below zero', { prompt_logprobs: -1 }, refusal('prompt_logprobs')],
  ['a negative limit', { max_tokens: -2 }, refusal('max_tokens')],
  ['a token outside', { prompt: [[1], [9999]], echo: true, logprobs: 1 }, refusal('prompt[1][0]')],
];

function refusal(param: string): ExpectedError {
  return { status: 400, code: 'invalid_value', param };
}

for (const [name, fields, expected] of REFUSED) {
  test(`refused: ${name}`, async () => {
    const { send, engine } = scored();
    expectError(await send(URL, body(fields)), expected);
    assert.is(engine.jobs.length, 0);
  });
}

test.run();
