// Threads of Anthropic's messages: the server keeps a conversation, so later turns send only what is new.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppOptions } from '../../ts/api/context.js';
import { MemoryStore } from '../../ts/api/openai/responses/store/memory-store.js';
import { testApp } from '../support/build-app.js';
import type { FakeScript } from '../support/fake-engine.js';
import { readNamedEvents } from '../support/post-to.js';

const test = suite('http: message threads');

const say = (content: unknown) => [{ role: 'user', content }];
const create = { type: 'create' };
const after = (id: string) => ({ type: 'continue', previous_message_id: id });

function threads(script: FakeScript = {}, options: AppOptions = {}) {
  const { app, engine, serverErrors } = testApp(script, options);
  const send = async (body: object, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/messages',
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify({ model: 'fake', max_tokens: 50, messages: say('Hi'), ...body }),
    });
  return { engine, send, serverErrors, lastPrompt: () => engine.jobs.at(-1)?.prompt };
}

const ignoredBy = ({ headers }: { headers: object }) => (headers as Record<string, unknown>)['x-chasqui-ignored'];

test('a turn continues the conversation, its system message and its tools', async () => {
  let offered: unknown;
  const renderWith = (_: unknown, options: { tools?: unknown }) => {
    offered = options.tools;
    return {};
  };
  const { send, lastPrompt } = threads({ renderWith });
  const tools = [{ name: 'weather', input_schema: { type: 'object' } }];
  const first = await send({ thread: create, system: 'Be brief.', tools });
  assert.is(first.statusCode, 200, first.body);
  const firstTools = JSON.stringify(offered);
  const second = await send({ thread: after(first.json().id), messages: say('And?') });
  assert.is(lastPrompt(), '<system>Be brief.<user>Hi<assistant>Hello!<user>And?');
  assert.equal([JSON.stringify(offered), ignoredBy(first), ignoredBy(second)], [firstTools, undefined, undefined]);
  await send({ thread: after(second.json().id), messages: say('More?') });
  assert.is(lastPrompt(), '<system>Be brief.<user>Hi<assistant>Hello!<user>And?<assistant>Hello!<user>More?');
  // A repeated request, and another branch.
  await send({ thread: after(first.json().id), messages: say('Else?') });
  assert.is(lastPrompt(), '<system>Be brief.<user>Hi<assistant>Hello!<user>Else?');
});

test('a streamed turn is stored before its last event', async () => {
  const { send, lastPrompt } = threads();
  const events = readNamedEvents((await send({ thread: create, stream: true })).body);
  const { id } = events[0].message;
  const streamed = await send({ thread: after(id), messages: say('And?'), stream: true });
  assert.is(readNamedEvents(streamed.body).at(-1).type, 'message_stop');
  assert.is(lastPrompt(), '<user>Hi<assistant>Hello!<user>And?');
});

test('a thread that is not there is told by the code that clients look for', async () => {
  const { send } = threads();
  const key = { 'x-api-key': 'one' };
  const { id } = (await send({ thread: create }, key)).json();
  const unstored = (await send({})).json();
  const foreign: [object, Record<string, string>?][] = [
    [after('msg_none'), key],
    [after(id)],
    [after(id), { 'x-api-key': 'other' }],
    [after(unstored.id)],
  ];
  for (const [thread, headers] of foreign) {
    for (const stream of [false, true]) {
      const reply = await send({ thread, stream }, headers);
      assert.is(reply.statusCode, 404, reply.body);
      const { message, ...error } = reply.json().error;
      assert.match(message, /"type": "create"/);
      assert.equal(error, {
        type: 'not_found_error',
        param: 'thread.previous_message_id',
        code: 'thread_not_found',
        details: { error_code: 'thread_not_found' },
      });
    }
  }
  assert.is((await send({ thread: after(id) }, key)).statusCode, 200);
});

test('a failed turn is not stored, and the turn before it can be continued again', async () => {
  let fails = false;
  const { send, lastPrompt } = threads({
    batches: () => {
      if (fails) throw new Error('broken');
      return [[{ text: 'Yes' }]];
    },
  });
  const { id } = (await send({ thread: create })).json();
  fails = true;
  assert.is((await send({ thread: after(id), messages: say('And?') })).statusCode, 500);
  fails = false;
  await send({ thread: after(id), messages: say('Again?') });
  assert.is(lastPrompt(), '<user>Hi<assistant>Yes<user>Again?');
});

test('errors name the fields of the request', async () => {
  const { send } = threads();
  const { id } = (await send({ thread: create })).json();
  const picture = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }];
  const wrong: [object, string | null][] = [
    [{ thread: after(id), messages: say(picture) }, 'messages[0].content[0].source'],
    [{ thread: after(id), system: 'Be brief.' }, 'system'],
    [{ thread: after(id), tools: [] }, 'tools'],
    [{ thread: after(id), messages: [] }, 'messages'],
    [{ thread: after('') }, 'thread.previous_message_id'],
    [{ thread: { type: 'continue' } }, 'thread.previous_message_id'],
    [{ thread: { type: 'other' } }, 'thread.type'],
    [{ thread: 'create' }, 'thread'],
    [{ thread: [] }, 'thread'],
  ];
  for (const [body, param] of wrong) {
    const reply = await send(body);
    assert.equal([reply.statusCode, reply.json().error.param], [400, param], reply.body);
  }
  assert.is((await send({ thread: null })).statusCode, 200);
});

test('other stored entries are no threads', async () => {
  const responses = new MemoryStore();
  responses.read = (_, id) => ({ data: { id, base64: '' } });
  const { send } = threads({}, { responses });
  assert.is((await send({ thread: after('msg_1') })).json().error.details.error_code, 'thread_not_found');
});

test('unstorable threads are reported, and a failing store does not fail the completion', async () => {
  const none = threads({}, { responses: null });
  const reply = await none.send({ thread: create });
  assert.equal([reply.statusCode, ignoredBy(reply)], [200, 'thread']);
  assert.is((await none.send({ thread: after(reply.json().id) })).json().error.code, 'thread_not_found');

  const broken = new MemoryStore();
  broken.put = () => {
    throw new Error('full');
  };
  const failing = threads({}, { responses: broken });
  assert.is((await failing.send({ thread: create })).statusCode, 200);

  for (const [turns, length] of [
    [1000, 100],
    [2, 2 ** 25],
  ] as const) {
    const full = new MemoryStore();
    full.read = (_, id) => ({ thread: { id, previous: null, turns, length, fields: {} }, messages: say('Hi') });
    const last = await threads({}, { responses: full }).send({ thread: after('msg_1'), messages: say('?') });
    assert.equal([last.statusCode, ignoredBy(last)], [200, 'thread']);
  }
});

test.run();
