import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';

const test = suite('http: what a body may be');
const { chat, post, engine } = testApp();

const user = { role: 'user', content: 'Hi' };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

function invalidType(param: string | null, says: RegExp): ExpectedError {
  return { status: 400, code: 'invalid_type', param, says };
}

function invalidValue(param: string | null, says: RegExp): ExpectedError {
  return { status: 400, code: 'invalid_value', param, says };
}

function missing(param: string): ExpectedError {
  return { status: 400, code: 'missing_required_parameter', param, says: new RegExp(param.replace(/[[\]]/g, '\\$&')) };
}

const REFUSED: [name: string, body: Record<string, unknown>, expected: ExpectedError][] = [
  ['model absent', { model: undefined }, missing('model')],
  ['model null', { model: null }, missing('model')],
  ['model a number', { model: 5 }, invalidType('model', /must be a string, but got 5/)],
  ['messages absent', { messages: undefined }, missing('messages')],
  ['messages a string', { messages: 'Hi' }, invalidType('messages', /must be an array, but got the string "Hi"/)],
  ['messages empty', { messages: [] }, invalidValue('messages', /^`messages` must not be an empty array\.$/)],
  ['message a string', { messages: ['Hi'] }, invalidType('messages[0]', /must be a JSON object/)],
  ['message without role', { messages: [{ content: 'Hi' }] }, missing('messages[0].role')],
  ['role a number', { messages: [{ ...user, role: 1 }] }, invalidType('messages[0].role', /string, but got 1/)],
  [
    'role unknown',
    { messages: [user, { ...user, role: 'robot' }] },
    invalidValue(
      'messages[1].role',
      /"system", "developer", "user", "assistant", "tool" or "function", but got the string "robot"/,
    ),
  ],
  ['content absent', { messages: [{ role: 'user' }] }, missing('messages[0].content')],
  [
    'content null for a user',
    { messages: [{ role: 'user', content: null }] },
    invalidType('messages[0].content', /a string or an array, but got null/),
  ],
  ['content a number', { messages: [{ role: 'user', content: 7 }] }, invalidType('messages[0].content', /but got 7/)],
  ['no parts', { messages: [{ role: 'user', content: [] }] }, invalidValue('messages[0].content', /empty array/)],
  [
    'part a string',
    { messages: [{ role: 'user', content: ['Hi'] }] },
    invalidType('messages[0].content[0]', /JSON object/),
  ],
  ['part without type', { messages: [{ role: 'user', content: [{}] }] }, missing('messages[0].content[0].type')],
  [
    'part of unknown type',
    { messages: [{ role: 'user', content: [{ type: 'input_video' }] }] },
    invalidValue(
      'messages[0].content[0].type',
      /"input_audio", "audio_url" or "file", but got the string "input_video"/,
    ),
  ],
  [
    'text part without text',
    { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    missing('messages[0].content[0].text'),
  ],
  [
    'image part without url',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
    missing('messages[0].content[0].image_url.url'),
  ],
  [
    'image in a system message',
    { messages: [{ role: 'system', content: [image] }] },
    invalidValue('messages[0].content[0].type', /must be "text"/),
  ],
  [
    'image to a text model',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }] },
    {
      status: 400,
      code: 'image_not_supported',
      param: 'messages[0].content[1].image_url.url',
      says: /`fake` takes text only/,
    },
  ],
  ['stream a string', { stream: 'true' }, invalidType('stream', /true or false, but got the string "true"/)],
  ['stream_options a boolean', { stream_options: true }, invalidType('stream_options', /JSON object, but got true/)],
  [
    'include_usage a number',
    { stream_options: { include_usage: 1 } },
    invalidType('stream_options.include_usage', /true or false/),
  ],
  ['temperature a string', { temperature: '0.5' }, invalidType('temperature', /a number, but got the string "0.5"/)],
  ['temperature below 0', { temperature: -0.1 }, invalidValue('temperature', /at least 0, but got -0.1/)],
  ['top_p above 1', { top_p: 1.1 }, invalidValue('top_p', /between 0 and 1, but got 1.1/)],
  ['top_p below 0', { top_p: -1 }, invalidValue('top_p', /between 0 and 1, but got -1/)],
  ['min_p above 1', { min_p: 2 }, invalidValue('min_p', /between 0 and 1/)],
  ['top_k below -1', { top_k: -2 }, invalidValue('top_k', /at least -1/)],
  ['top_k a fraction', { top_k: 1.5 }, invalidType('top_k', /a whole number, but got 1.5/)],
  [
    'max_tokens 0',
    { max_tokens: 0 },
    invalidValue('max_tokens', /^`max_tokens` must be -1 or at least 1, but got 0\.$/),
  ],
  [
    'max_completion_tokens 0',
    { max_completion_tokens: 0 },
    invalidValue('max_completion_tokens', /at least 1, but got 0/),
  ],
  ['repetition_penalty 0', { repetition_penalty: 0 }, invalidValue('repetition_penalty', /greater than 0/)],
  ['presence_penalty true', { presence_penalty: true }, invalidType('presence_penalty', /a number, but got true/)],
  ['frequency_penalty an array', { frequency_penalty: [1] }, invalidType('frequency_penalty', /an array of 1/)],
  ['stop a number', { stop: 5 }, invalidType('stop', /a string or an array, but got 5/)],
  ['65 stops', { stop: Array(65).fill('x') }, invalidValue('stop', /at most 64 items/)],
  ['a long stop', { stop: ['a', 'x'.repeat(1001)] }, invalidValue('stop[1]', /at most 1000 characters/)],
  ['seed a fraction', { seed: 0.5 }, invalidType('seed', /a whole number/)],
  ['n 0', { n: 0 }, invalidValue('n', /between 1 and 128, but got 0/)],
  ['n 129', { n: 129 }, invalidValue('n', /between 1 and 128, but got 129/)],
  ['logprobs a number', { logprobs: 3 }, invalidType('logprobs', /true or false, but got 3/)],
  ['top_logprobs 21', { logprobs: true, top_logprobs: 21 }, invalidValue('top_logprobs', /between 0 and 20/)],
  ['top_logprobs alone', { top_logprobs: 2 }, invalidValue('top_logprobs', /requires `logprobs: true`/)],
  ['logit_bias an array', { logit_bias: [] }, invalidType('logit_bias', /JSON object, but got an empty array/)],
  ['logit_bias of a word', { logit_bias: { x: 1 } }, invalidValue('logit_bias', /keys.*whole numbers.*the string "x"/)],
  ['a logit bias a string', { logit_bias: { 5: '1' } }, invalidType('logit_bias[5]', /a number, but got the string/)],
];

for (const [name, body, expected] of REFUSED) {
  test(`refuses: ${name}`, async () => {
    const before = engine.jobs.length;
    expectError(await chat(body), expected);
    if (engine.jobs.length !== before) throw new Error('A refused request reached the engine.');
  });
}

const NOT_JSON: [name: string, payload: string, says: RegExp][] = [
  ['an empty body', '', /body is empty/],
  ['white space', ' \n', /not valid JSON/],
  ['a broken object', '{"model": "fake",', /position 17|end of JSON/],
  ['a bare word', '{"model": fake}', /Unexpected token/],
  ['not a number', '{"temperature": NaN}', /Unexpected token/],
  ['a key __proto__', '{"model":"fake","messages":[{"role":"user","content":"x","__proto__":{"a":1}}]}', /__proto__/],
  ['an escaped __proto__', '{"model":"fake","x":[[{"\\u005f_proto__":1}]]}', /__proto__/],
  ['constructor.prototype', '{"x":{"constructor":{"prototype":{"a":1}}}}', /constructor/],
];

for (const [name, payload, says] of NOT_JSON) {
  test(`refuses as JSON: ${name}`, async () => {
    expectError(await post(payload), { status: 400, code: 'invalid_json', says });
  });
}

for (const payload of ['[]', '"Hi"', '5', 'null', 'true']) {
  test(`refuses a body that is no object: ${payload}`, async () => {
    expectError(await post(payload), invalidType(null, /^The request body must be a JSON object, but got /));
  });
}

test('refuses a number beyond any float', async () => {
  const payload = '{"model":"fake","messages":[{"role":"user","content":"Hi"}],"temperature":1e999}';
  expectError(await post(payload), invalidType('temperature', /but got Infinity/));
});

test('shows only the beginning of a long value', async () => {
  expectError(await chat({ temperature: 'x'.repeat(100_000) }), invalidType('temperature', /^.{1,120}$/));
});

test('survives a body nested deeper than the stack', async () => {
  const depth = 200_000;
  const payload = `{"model":"fake","messages":[],"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  expectError(await post(payload), invalidValue(null, /^The request body is nested deeper than .* 128 levels/));
});

test('a wrong value is told what it may be, in words', async () => {
  const messageOf = async (body: object) =>
    (await testApp().send('/completion', { model: 'fake', prompt: 'a', ...body })).json().error.message;
  assert.is(
    await messageOf({ samplers: 'ez' }),
    '`samplers` must consist of the letters e, d, s, k, y, p, m, x, t, a, but got the string "ez".',
  );
  assert.is(await messageOf({ samplers: '' }), '`samplers` must not be an empty string.');
  assert.is(await messageOf({ samplers: [] }), '`samplers` must not be an empty array.');
  assert.is(
    await messageOf({ logit_bias: [[1]] }),
    '`logit_bias[0]` must have at least 2 items, but got an array of 1.',
  );
});

test.run();
