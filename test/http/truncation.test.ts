// `truncation: "auto"` of POST /v1/responses: the oldest items of a long conversation are omitted.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { pictureUri } from '../support/image-files.js';
import { readNamedEvents } from '../support/post-to.js';

const test = suite('http: truncated input');

/** One token per byte, `<role>` included. */
const CONTEXT = 400;
const AUTO = { truncation: 'auto' };

function responses(vision = false) {
  const { app, engine } = testApp({ model: { contextLength: CONTEXT, vision } });
  const respond = async (input: unknown, body: object = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify({ model: 'fake', input, ...body }),
    });
  return { engine, respond, prompt: () => engine.jobs.at(-1)?.prompt ?? '' };
}

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' });
const output = (call_id: string, text: string) => ({ type: 'function_call_output', call_id, output: text });
const long = (name: string) => name.repeat(100);

test('without it, a long prompt is an error, and with it a short one is whole', async () => {
  const { respond, prompt } = responses();
  const turns = [user(long('a')), assistant(long('b')), user(long('c')), assistant(long('d')), user('last')];
  const expected = { status: 400, code: 'context_length_exceeded', param: 'input' };
  expectError(await respond(turns), expected);
  expectError(await respond(turns, { truncation: 'disabled' }), expected);
  const short = await respond(turns.slice(2), AUTO);
  assert.is(short.json().truncation, 'auto');
  assert.is(prompt(), `<user>${long('c')}<assistant>${long('d')}<user>last`);
});

test('whole turns are omitted, and instructions are kept', async () => {
  const { respond, prompt } = responses();
  const turns = [
    { role: 'developer', content: 'Count.' },
    user(long('a')),
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm' }] },
    call('1'),
    output('1', long('b')),
    assistant('x'),
    user(long('c')),
    assistant('y'),
    { role: 'system', content: 'Now.' },
    user(long('d')),
    assistant('z'),
    user('last'),
  ];
  const reply = await respond(turns, { ...AUTO, instructions: 'Be brief.' });
  assert.equal([reply.statusCode, reply.json().truncation], [200, 'auto'], reply.body);
  const kept = `<user>${long('c')}<assistant>y<system>Now.<user>${long('d')}<assistant>z<user>last`;
  assert.is(prompt(), `<system>Be brief.<developer>Count.${kept}`);
  // A longer completion leaves less to the prompt.
  await respond(turns, { ...AUTO, max_output_tokens: 200 });
  assert.is(prompt(), `<developer>Count.<system>Now.<user>${long('d')}<assistant>z<user>last`);
});

test('calls after the last user message are omitted with their outputs', async () => {
  const { respond, engine } = responses();
  const turns = [
    user('task'),
    call('1'),
    call('2'),
    output('2', long('a')),
    output('1', long('b')),
    call('3'),
    output('3', long('c')),
    call('4'),
    output('4', long('d')),
  ];
  const reply = await respond(turns, AUTO);
  assert.is(reply.statusCode, 200, reply.body);
  const shown = engine.conversations
    .at(-1)
    ?.map(({ role, toolCalls = [], toolCallId, content }) => [
      role,
      toolCallId ?? toolCalls.map(({ id }) => id).join(),
      typeof content === 'string' ? content.slice(0, 4) : content,
    ]);
  assert.equal(shown, [
    ['user', '', 'task'],
    ['assistant', '3', ''],
    ['tool', '3', 'cccc'],
    ['assistant', '4', ''],
    ['tool', '4', 'dddd'],
  ]);
});

test('required turns that do not fit are an error', async () => {
  const { respond } = responses();
  const expected = { status: 400, code: 'context_length_exceeded', param: 'input' };
  expectError(await respond(long('word '), AUTO), expected);
  expectError(await respond([user('a'), user(long('word '))], AUTO), expected);
  expectError(await respond([user('task'), call('1'), output('1', long('word '))], AUTO), expected);
});

test('a stored conversation is truncated, not what is stored', async () => {
  const { respond, prompt } = responses();
  const first = (await respond(long('abc'))).json();
  const second = await respond('next', { ...AUTO, previous_response_id: first.id, max_output_tokens: 150 });
  assert.is(prompt(), `<user>${long('abc')}<assistant>Hello!<user>next`);
  const more = { ...AUTO, previous_response_id: second.json().id, stream: true };
  const events = readNamedEvents((await respond(long('z'), more)).body);
  assert.is(events.at(-1).response.truncation, 'auto');
  assert.is(prompt(), `<user>next<assistant>Hello!<user>${long('z')}`);
});

test('images of items that are kept stay with them', async () => {
  const { respond, engine } = responses(true);
  const [png, gif] = [await pictureUri('png'), await pictureUri('gif')];
  const shows = (image_url: string, text: string) => ({
    role: 'user',
    content: [
      { type: 'input_text', text },
      { type: 'input_image', image_url },
    ],
  });
  const reply = await respond([shows(png, long('abcd')), shows(gif, 'last')], AUTO);
  assert.is(reply.statusCode, 200, reply.body);
  const [job] = engine.jobs;
  assert.is(job?.prompt, '<user>last<image>');
  const images = job?.images ?? [];
  assert.equal(
    images.map((image) => Buffer.from((image as { bytes: Uint8Array }).bytes).toString('base64')),
    [gif.replace(/^.*,/, '')],
  );
});

test.run();
