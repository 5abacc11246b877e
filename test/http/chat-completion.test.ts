import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token } from '../../ts/engine/engine.js';
import { VERSION } from '../../ts/version.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { finishOf } from '../support/fake-engine.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../support/logprob-tokens.js';

const test = suite('http: a whole reply');

test('has the published shape and nothing else', async () => {
  const { chat } = testApp();
  const before = Math.floor(Date.now() / 1000);
  const reply = await chat();
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['content-type'], 'application/json; charset=utf-8');
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  assert.match(String(reply.headers['x-request-id']), /^req_/);
  const { id, created, ...rest } = reply.json();
  assert.match(id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.ok(Number.isInteger(created) && created >= before && created <= before + 60);
  assert.equal(rest, {
    object: 'chat.completion',
    model: 'fake',
    system_fingerprint: `chasqui-${VERSION}`,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello!', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 8,
      completion_tokens: 4,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  });
});

test('every reply has an id of its own', async () => {
  const { chat } = testApp();
  const [one, two] = [(await chat()).json().id, (await chat()).json().id];
  assert.is.not(one, two);
});

test('usage, cached tokens and the finish reason are the engine’s', async () => {
  const finish = finishOf(100, 7, { reason: 'length', cachedTokens: 64 });
  const { chat } = testApp({ batches: () => [[{ text: 'x', finish }]] });
  const { choices, usage } = (await chat()).json();
  assert.is(choices[0].finish_reason, 'length');
  assert.equal(usage, {
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    prompt_tokens_details: { cached_tokens: 64 },
    completion_tokens_details: { reasoning_tokens: 0 },
  });
});

test('any text survives the way out', async () => {
  const text = 'quotes " \\ and \u2028 lines\n\ttabs \u0000 👩‍🚀 ñ </script>';
  const { chat } = testApp({ batches: () => [[{ text }]] });
  assert.is((await chat()).json().choices[0].message.content, text);
});

test('an empty answer is an empty string', async () => {
  const { chat } = testApp({ batches: () => [[{ text: '' }]] });
  assert.is((await chat()).json().choices[0].message.content, '');
});

test('log-probabilities are there when asked for', async () => {
  const { chat, engine } = testApp({ batches: () => LOGPROB_BATCHES });
  const reply = await chat({ logprobs: true, top_logprobs: 2 });
  assert.is(engine.jobs[0]?.topLogprobs, 2);
  assert.equal(reply.json().choices[0].logprobs, { content: LOGPROB_ENTRIES, refusal: null });
});

test('log-probabilities list the tokens of the returned text, not those of the stop string', async () => {
  const tokens = ['a', 'b', 'S', 'S', 'T', 'OPx'].map((own, id) => ({ own, id }));
  const released = ['a', 'b', '', '', '', 'S'];
  const batch = tokens.map(({ own, id }, at): Token => {
    const logprobs = { id, bytes: Buffer.from(own), logprob: -1, top: [] };
    const finish = at === 5 ? { finish: finishOf(3, 6, { stopString: 'STOP' }) } : {};
    return { id, text: released[at] as string, logprobs, ...finish };
  });
  const batches = () => [batch.slice(0, 3), batch.slice(3)];
  const { chat, send } = testApp({ batches });
  const named = ({ content }: { content: { token: string }[] }) => content.map(({ token }) => token);
  const [choice] = (await chat({ logprobs: true, stop: 'STOP' })).json().choices;
  assert.equal([choice.message.content, named(choice.logprobs)], ['abS', ['a', 'b', 'S']]);
  const body = { model: 'fake', prompt: 'Hi', stop: 'STOP', logprobs: 1 };
  const [text] = (await send('/v1/completions', body)).json().choices;
  assert.equal([text.text, text.logprobs.tokens ?? named(text.logprobs)], ['abS', ['a', 'b', 'S']]);
});

test('the conversation reaches the template as it was sent', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({
    messages: [
      { role: 'system', content: 'Be brief.', name: 'boss' },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'One.' },
          { type: 'text', text: 'Two.' },
        ],
      },
      { role: 'user', content: 'Hi', name: null },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', content: '42', tool_call_id: 'call_1' },
    ],
  });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(engine.conversations[0], [
    { role: 'system', content: 'Be brief.', name: 'boss' },
    { role: 'developer', content: 'One.\nTwo.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '' },
    { role: 'tool', content: '42', toolCallId: 'call_1' },
  ]);
});

test('null is the same as absent, everywhere a client may send it', async () => {
  const { chat, engine } = testApp();
  const nulls = [
    'stream',
    'stream_options',
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'max_tokens',
    'stop',
    'seed',
    'n',
  ];
  await chat();
  const reply = await chat({ ...Object.fromEntries(nulls.map((name) => [name, null])), tools: null, whatever: null });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  assert.equal(engine.jobs[1], engine.jobs[0]);
});

test('values that ask for nothing are no reason to refuse', async () => {
  const { chat } = testApp();
  const reply = await chat({ n: 1, tools: [], functions: [], logit_bias: {}, response_format: { type: 'text' } });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
});

test('fields that nobody knows are ignored and named', async () => {
  const { chat } = testApp();
  const reply = await chat({ repeat_penalty: 'not even a number', temprature: 1, 'a, b\n\u{1f600}': 1, '\ud800': 2 });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(
    reply.headers['x-chasqui-ignored'],
    'repeat_penalty, temprature;did-you-mean=temperature, a%2C%20b%0A%F0%9F%98%80, %EF%BF%BD',
  );
});

test('the list of ignored fields stays short enough for a header', async () => {
  const { chat } = testApp();
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${'x'.repeat(500)}${i}`, 1]));
  const reply = await chat(many);
  assert.is(reply.statusCode, 200, reply.body);
  assert.ok(String(reply.headers['x-chasqui-ignored']).length < 4096);
  assert.match(String(reply.headers['x-chasqui-ignored']), /, \.\.\.$/);
});

test('strict: an unknown field is refused with what was probably meant', async () => {
  const { chat, engine } = testApp({}, { strict: true });
  const unknown = { status: 400, code: 'unknown_parameter' };
  expectError(await chat({ temprature: 1 }), { ...unknown, param: 'temprature', says: /mean `temperature`\?/ });
  expectError(await chat({ repeat_penalty: 1.1 }), {
    ...unknown,
    param: 'repeat_penalty',
    says: /`repetition_penalty`/,
  });
  expectError(await chat({ quux: 1 }), { ...unknown, param: 'quux', says: /runtime mode knows\.$/ });
  assert.is((await chat({ quux: null })).statusCode, 200);
  assert.is(engine.jobs.length, 1);
});

test.run();
