// Limits on the number of elements in a request.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: how much a request may ask for');

const user = { role: 'user', content: '' };
const call = { type: 'function', function: { name: 'f', arguments: '{}' } };
const tooMany = (param: string, says: RegExp) => ({ status: 400, code: 'invalid_value', param, says });
const fill = (count: number, item: unknown) => Array(count).fill(item);

test('messages and calls, in each protocol', async () => {
  const { send } = testApp();
  const limit = /9000 messages and calls, but at most 8192/;
  expectError(await send(CHAT_PATH, chatBody({ messages: fill(9000, user) })), tooMany('messages', limit));
  const calls = [
    { role: 'assistant', tool_calls: fill(8998, call) },
    { role: 'tool', content: 'x' },
  ];
  expectError(await send(CHAT_PATH, chatBody({ messages: calls })), tooMany('messages', limit));
  expectError(await send('/v1/responses', { model: 'fake', input: fill(9000, user) }), tooMany('input', limit));
  const { statusCode, body } = await send('/v1/messages', { model: 'fake', max_tokens: 1, messages: fill(9000, user) });
  assert.is(statusCode, 400);
  assert.match(body, limit);
  assert.is((await send(CHAT_PATH, chatBody({ messages: fill(400, user) }))).statusCode, 200);
});

test('tools', async () => {
  const { send } = testApp();
  const tools = Array.from({ length: 1025 }, (_, i) => ({ type: 'function', function: { name: `f${i}` } }));
  const reply = await send(CHAT_PATH, chatBody({ tools }));
  expectError(reply, tooMany('tools', /1025 tools, but at most 1024/));
  assert.is((await send(CHAT_PATH, chatBody({ tools: tools.slice(1) }))).statusCode, 200);
});

test('stop strings, and what they are long', async () => {
  const { send } = testApp();
  const long = 'x'.repeat(1001);
  expectError(await send(CHAT_PATH, chatBody({ stop: long })), tooMany('stop', /at most 1000 characters/));
  expectError(await send(CHAT_PATH, chatBody({ stop: ['x', long] })), tooMany('stop[1]', /at most 1000 characters/));
  const anthropic = { model: 'fake', max_tokens: 1, messages: [{ ...user, content: 'x' }], stop_sequences: [long] };
  assert.match((await send('/v1/messages', anthropic)).body, /at most 1000 characters/);
  assert.is((await send(CHAT_PATH, chatBody({ stop: long.slice(1) }))).statusCode, 200);
});

test('a response repeats settings of its request', async () => {
  const { send } = testApp();
  const respond = (metadata: object) => send('/v1/responses', { model: 'fake', input: 'Hi', metadata });
  expectError(await respond({ data: 'x'.repeat(513) }), tooMany('metadata.data', /at most 512 characters/));
  const pairs = Object.fromEntries(fill(17, 0).map((_, i) => [`k${i}`, 'v']));
  expectError(await respond(pairs), tooMany('metadata', /at most 16 keys/));
  assert.is((await respond({ a: 'b' })).statusCode, 200);
});

test('long names count as text', async () => {
  const { send } = testApp();
  const reply = await send(CHAT_PATH, chatBody({ ['x'.repeat(5_000_000)]: 1 }));
  expectError(reply, { status: 413, code: 'request_too_large', says: /limit, 4194304 characters/ });
});

test('pieces of tokens', async () => {
  const { send } = testApp();
  const content = 'x'.repeat(250_001);
  expectError(await send('/tokenize', { content, with_pieces: true }), tooMany('content', /250001 tokens.*250000/));
  const sent = await send('/tokenize', { prompt: content, with_pieces: true });
  expectError(sent, tooMany('prompt', /250001 tokens.*250000/));
  assert.is((await send('/tokenize', { content })).json().tokens.length, 250_001);
});

test.run();
