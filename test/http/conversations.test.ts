// Conversations: create, read, append, continue, delete.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { readNamedEvents } from '../support/post-to.js';
import { until } from '../support/until.js';

const test = suite('http: conversations');

test.after.each(closeApps);

const URL = '/v1/conversations';

/** Requests of one caller. */
function caller(app: FastifyInstance, headers: Record<string, string> = {}) {
  const send = (method: 'GET' | 'POST' | 'DELETE', url: string, body?: object) =>
    app.inject({
      method,
      url,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { payload: JSON.stringify(body) }),
    });
  return {
    create: (body: object = {}) => send('POST', URL, body),
    get: (path: string) => send('GET', `${URL}/${path}`),
    post: (path: string, body: object) => send('POST', `${URL}/${path}`, body),
    remove: (path: string) => send('DELETE', `${URL}/${path}`),
    respond: (body: object) => send('POST', '/v1/responses', { model: 'fake', input: 'Hi', ...body }),
    response: (path: string) => send('GET', `/v1/responses/${path}`),
  };
}

function conversations(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, engine } = testApp(script, options);
  return { app, engine, ...caller(app) };
}

type Listed = { role: string; content: { text: string }[] };
const shown = (list: { data: Listed[] }) => list.data.map(({ role, content }) => `${role} ${content[0]?.text}`);

const missing = { status: 404, type: 'not_found_error', code: 'response_not_found' };
const said = (content: string) => ({ role: 'user', content });

test('a conversation is made, shown, given other metadata, and deleted', async () => {
  const { create, get, post, remove } = conversations();
  const made = (await create({ metadata: { a: 'b' } })).json();
  assert.equal([made.object, made.metadata], ['conversation', { a: 'b' }]);
  assert.match(made.id, /^conv_[0-9a-f]{32}$/);
  assert.equal((await get(made.id)).json(), made);
  assert.equal((await post(made.id, { metadata: { c: 'd' } })).json(), { ...made, metadata: { c: 'd' } });
  assert.equal((await post(made.id, { metadata: null })).json(), { ...made, metadata: {} });
  assert.equal((await get(made.id)).json().metadata, {});
  const deleted = await remove(made.id);
  assert.equal(deleted.json(), { id: made.id, object: 'conversation.deleted', deleted: true });
  for (const reply of [await get(made.id), await remove(made.id), await post(made.id, { metadata: {} })]) {
    expectError(reply, { ...missing, says: new RegExp(made.id) });
  }
});

test('its items are added, listed in pages, read and taken out', async () => {
  const { create, get, post, remove } = conversations();
  const { id } = (await create({ items: [said('One'), { role: 'assistant', content: 'Two' }] })).json();
  const added = (await post(`${id}/items`, { items: [said('Three'), said('Four')] })).json();
  assert.equal([added.object, shown(added), added.has_more], ['list', ['user Three', 'user Four'], false]);
  assert.equal(shown((await get(`${id}/items`)).json())[0], 'user Four');
  const page = (await get(`${id}/items?order=asc&limit=3`)).json();
  assert.equal([shown(page), page.has_more], [['user One', 'assistant Two', 'user Three'], true]);
  const rest = (await get(`${id}/items?order=asc&after=${page.last_id}`)).json();
  assert.equal([shown(rest), rest.has_more], [['user Four'], false]);
  const item = (await get(`${id}/items/${page.first_id}`)).json();
  assert.equal(
    [item.id, item.type, item.status, item.content],
    [page.first_id, 'message', 'completed', [{ type: 'input_text', text: 'One' }]],
  );
  assert.is((await remove(`${id}/items/${page.first_id}`)).json().id, id);
  expectError(await get(`${id}/items/${page.first_id}`), missing);
  expectError(await remove(`${id}/items/${page.first_id}`), missing);
  assert.is((await get(`${id}/items`)).json().data.length, 3);
});

test('a response goes on from a conversation, and its turn is added', async () => {
  const { create, get, respond, engine } = conversations();
  const { id } = (await create({ items: [said('One')] })).json();
  const first = (await respond({ conversation: id, input: 'Two', instructions: 'Be brief.' })).json();
  assert.equal(first.conversation, { id });
  await respond({ conversation: { id }, input: [said('Three')], stream: true });
  assert.equal(
    engine.jobs.map(({ prompt }) => prompt),
    ['<system>Be brief.<user>One<user>Two', '<user>One<user>Two<assistant>Hello!<user>Three'],
  );
  const items = (await get(`${id}/items?order=asc`)).json();
  assert.equal(shown(items), ['user One', 'user Two', 'assistant Hello!', 'user Three', 'assistant Hello!']);
  assert.is(items.data[2].id, first.output[0].id);
});

test('the turn of a response that is not stored is added, too, and one in the background', async () => {
  const { create, get, respond, response } = conversations();
  const { id } = (await create()).json();
  const first = (await respond({ conversation: id, store: false })).json();
  expectError(await response(first.id), missing);
  const later = (await respond({ conversation: id, input: 'Later', background: true })).json();
  await until(async () => (await response(later.id)).json().status === 'completed', 'it is completed');
  const items = (await get(`${id}/items?order=asc`)).json();
  assert.equal(shown(items), ['user Hi', 'assistant Hello!', 'user Later', 'assistant Hello!']);
});

test('a turn that failed is not added', async () => {
  const { create, get, respond, engine } = conversations();
  const { id } = (await create()).json();
  engine.play({ failAt: 1, failWith: new ChasquiError('decode_failed', 'The model broke.') });
  const failed = readNamedEvents((await respond({ conversation: id, stream: true })).body);
  assert.is(failed.at(-2).response.status, 'failed');
  assert.equal((await get(`${id}/items`)).json().data, []);
});

test('one that is deleted while its response streams stays deleted, and the response ends as ever', async () => {
  const lines: string[] = [];
  const log = { level: 'debug' as const, write: (line: string) => lines.push(line) };
  const { create, get, respond, remove, engine } = conversations({ manual: true }, { log });
  const { id } = (await create()).json();
  const reply = respond({ conversation: id, stream: true });
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  assert.is((await remove(id)).statusCode, 200);
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const events = readNamedEvents((await reply).body);
  assert.equal([events.at(-1).type, events.at(-1).response.conversation], ['response.completed', { id }]);
  expectError(await get(id), missing);
  const levels = lines.map((line) => JSON.parse(line).level);
  assert.equal([...new Set(levels)], ['info'], lines.join(''));
});

test('each item has an id of its own, and can be referred to', async () => {
  const { create, get, post, respond, engine } = conversations();
  const { id } = (await create({ items: [{ ...said('One'), id: 'msg_1' }] })).json();
  const items = [
    { ...said('Two'), id: 'msg_1' },
    { type: 'item_reference', id: 'msg_1' },
  ];
  const added = (await post(`${id}/items`, { items })).json();
  assert.equal(shown(added), ['user Two', 'user One']);
  const ids = (await get(`${id}/items`)).json().data.map((item: { id: string }) => item.id);
  assert.is(new Set(ids).size, 3);
  await respond({ input: [{ type: 'item_reference', id: added.first_id }] });
  assert.is(engine.jobs.at(-1)?.prompt, '<user>Two');
});

test('items of a response can be referenced after their conversation is deleted', async () => {
  const { create, remove, respond, engine } = conversations();
  const { id } = (await create()).json();
  const [answer] = (await respond({ conversation: id })).json().output;
  await remove(id);
  const reply = await respond({ input: [{ type: 'item_reference', id: answer.id }, said('Two')] });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(engine.jobs.at(-1)?.prompt, '<assistant>Hello!<user>Two');
});

test('a response and a conversation are never taken for each other', async () => {
  const { create, get, remove, respond, response } = conversations();
  const { id } = (await create({ items: [{ ...said('One'), id: 'msg_1' }] })).json();
  const made = (await respond({})).json();
  expectError(await response(id), missing);
  expectError(await get(made.id), missing);
  expectError(await remove(made.id), missing);
  const noPrevious = { status: 400, param: 'previous_response_id', code: 'previous_response_not_found' };
  expectError(await respond({ previous_response_id: id }), noPrevious);
  expectError(await respond({ conversation: made.id }), { ...missing, param: 'conversation' });
  // Also where it has been read for a reference already.
  const referring = [{ type: 'item_reference', id: made.output[0].id }];
  expectError(await respond({ conversation: made.id, input: referring }), { ...missing, param: 'conversation' });
});

test('one key never sees what another has', async () => {
  const { app } = conversations();
  const one = caller(app, { authorization: 'Bearer one' });
  const { id } = (await one.create({ items: [{ ...said('Secret'), id: 'msg_1' }] })).json();
  for (const other of [caller(app), caller(app, { authorization: 'Bearer two' })]) {
    for (const reply of [
      await other.get(id),
      await other.get(`${id}/items`),
      await other.get(`${id}/items/msg_1`),
      await other.post(id, { metadata: {} }),
      await other.post(`${id}/items`, { items: [said('Hi')] }),
      await other.remove(`${id}/items/msg_1`),
      await other.remove(id),
    ]) {
      expectError(reply, missing);
    }
    expectError(await other.respond({ conversation: id }), { ...missing, param: 'conversation' });
    const items = [{ type: 'item_reference', id: 'msg_1' }];
    expectError(await other.create({ items }), { ...missing, param: 'items[0].id' });
  }
  assert.is((await one.get(`${id}/items`)).json().data.length, 1);
});

test('a conversation has a bounded length', async () => {
  const { create, get, post, respond } = conversations();
  const { id } = (await create()).json();
  const long = { role: 'user', content: 'x'.repeat(3 * 2 ** 20) };
  assert.is((await post(`${id}/items`, { items: [long] })).statusCode, 200);
  assert.is((await post(`${id}/items`, { items: [long] })).statusCode, 200);
  const full = { status: 400, code: 'invalid_value', says: /Start another one/ };
  expectError(await post(`${id}/items`, { items: [long] }), { ...full, param: 'items' });
  expectError(await respond({ conversation: id, input: [long] }), { ...full, param: 'conversation' });
  assert.is((await get(`${id}/items`)).json().data.length, 2);
  const many = Array.from({ length: 8193 }, () => said('x'));
  expectError(await create({ items: many }), { ...full, param: 'items' });
});

test('errors name the invalid field', async () => {
  const { create, post, respond } = conversations();
  const { id } = (await create()).json();
  expectError(await create({ items: [{ role: 'user' }] }), {
    status: 400,
    code: 'missing_required_parameter',
    param: 'items[0].content',
  });
  expectError(await create({ metadata: { a: 1 } }), { status: 400, code: 'invalid_type', param: 'metadata.a' });
  expectError(await post(`${id}/items`, {}), { status: 400, code: 'missing_required_parameter', param: 'items' });
  expectError(await respond({ conversation: 7 }), { status: 400, code: 'invalid_type', param: 'conversation' });
  const made = (await respond({})).json();
  const both = await respond({ conversation: id, previous_response_id: made.id });
  expectError(both, { status: 400, code: 'invalid_value', param: 'conversation' });
});

test('without a store there are none', async () => {
  const { create, get, respond } = conversations({}, { responses: null });
  const unsupported = { status: 400, code: 'unsupported_parameter' };
  expectError(await create(), unsupported);
  expectError(await get('conv_1'), unsupported);
  expectError(await respond({ conversation: 'conv_1' }), { ...unsupported, param: 'conversation' });
});

test.run();
