// Stored responses: read, continue, delete, compute in the background.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryStore } from '../../ts/api/openai/responses/store/memory-store.js';
import { ChasquiError } from '../../ts/errors.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces, readNamedEvents } from '../support/post-to.js';
import { until } from '../support/until.js';

const test = suite('http: stored responses');

test.after.each(closeApps);

const URL = '/v1/responses';

/** Requests of one caller. */
function caller(app: FastifyInstance, headers: Record<string, string> = {}) {
  const send = (method: 'GET' | 'POST' | 'DELETE', url: string, body?: object) =>
    app.inject({
      method,
      url: URL + url,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { payload: JSON.stringify(body) }),
    });
  return {
    respond: (body: object = {}) => send('POST', '', { model: 'fake', input: 'Hi', ...body }),
    get: (id: string) => send('GET', `/${id}`),
    items: (id: string, query = '') => send('GET', `/${id}/input_items${query}`),
    cancel: (id: string) => send('POST', `/${id}/cancel`),
    remove: (id: string) => send('DELETE', `/${id}`),
  };
}

function responses(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, engine } = testApp(script, options);
  return { app, engine, ...caller(app) };
}

const missing = { status: 404, type: 'not_found_error', code: 'response_not_found' };
const noPrevious = { status: 400, param: 'previous_response_id', code: 'previous_response_not_found' };

test('a response can be asked for until it is deleted', async () => {
  const { respond, get, remove } = responses();
  const made = (await respond()).json();
  assert.is(made.store, true);
  assert.equal((await get(made.id)).json(), made);
  const deleted = await remove(made.id);
  assert.equal(deleted.json(), { id: made.id, object: 'response', deleted: true });
  expectError(await get(made.id), { ...missing, says: new RegExp(made.id) });
  expectError(await remove(made.id), missing);
});

test('a streamed response is there before its last event, and a failed one is there too', async () => {
  const { respond, get, engine } = responses();
  const events = readNamedEvents((await respond({ stream: true })).body);
  const { response } = events.at(-1);
  assert.equal((await get(response.id)).json(), response);
  engine.play({ failAt: 1, failWith: new ChasquiError('decode_failed', 'The model broke.') });
  const failed = readNamedEvents((await respond({ stream: true })).body).at(-2).response;
  assert.is(failed.status, 'failed');
  assert.equal((await get(failed.id)).json(), failed);
});

test('with `store: false` it is not kept', async () => {
  const { respond, get } = responses();
  const made = (await respond({ store: false })).json();
  assert.is(made.store, false);
  expectError(await get(made.id), missing);
  expectError(await respond({ previous_response_id: made.id }), noPrevious);
});

test('a response goes on from another, and from what that one goes on from', async () => {
  const { respond, engine } = responses();
  const first = (await respond({ instructions: 'Be brief.', input: 'One' })).json();
  const second = (await respond({ previous_response_id: first.id, input: 'Two' })).json();
  assert.is(second.previous_response_id, first.id);
  await respond({ previous_response_id: second.id, input: [{ role: 'user', content: 'Three' }], instructions: 'New' });
  assert.equal(
    engine.jobs.map(({ prompt }) => prompt),
    [
      '<system>Be brief.<user>One',
      // Instructions are those of one request.
      '<user>One<assistant>Hello!<user>Two',
      '<system>New<user>One<assistant>Hello!<user>Two<assistant>Hello!<user>Three',
    ],
  );
});

test('reasoning, calls and their results are gone on from as well', async () => {
  const { respond, engine } = responses({ model: { takesTools: true } });
  engine.play({ batches: () => inPieces('<think>Hm.</think><call>clock {"a":1}</call>') });
  const tools = [{ type: 'function', name: 'clock' }];
  const first = (await respond({ tools })).json();
  const { call_id } = first.output.at(-1);
  const output = { type: 'function_call_output', call_id, output: 'Noon' };
  const reply = await respond({ tools, previous_response_id: first.id, input: [output] });
  assert.is(reply.statusCode, 200, reply.body);
  const [, turn, result] = engine.conversations.at(-1) ?? [];
  assert.equal([turn?.reasoning, turn?.toolCalls?.[0]?.arguments], ['Hm.', '{"a":1}']);
  assert.equal([result?.role, result?.content], ['tool', 'Noon']);
});

test('items are referred to by their ids', async () => {
  const { respond, items, engine } = responses();
  const first = (await respond({ input: 'One' })).json();
  const [asked] = (await items(first.id)).json().data;
  const [said] = first.output;
  const input = [{ type: 'item_reference', id: asked.id }, { id: said.id }, { role: 'user', content: 'Two' }];
  const reply = await respond({ input });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(engine.jobs.at(-1)?.prompt, '<user>One<assistant>Hello!<user>Two');
  expectError(await respond({ input: [...input, { type: 'item_reference', id: 'msg_1' }] }), {
    ...missing,
    param: 'input[3].id',
  });
});

test('stored items have all fields of OpenAI, with or without a value of the client', async () => {
  const { respond, items } = responses({ model: { takesTools: true, vision: true } });
  const image = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  const input = [
    { role: 'user', content: [{ type: 'input_image', image_url: image }] },
    { role: 'assistant', content: [{ type: 'output_text', text: 'A' }], status: 'incomplete' },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    { type: 'function_call', call_id: 'c', name: 'clock', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: image, detail: 'low' }] },
  ];
  const tools = [{ type: 'function', name: 'clock' }];
  const reply = await respond({ input, tools });
  assert.is(reply.statusCode, 200, reply.body);
  const { data } = (await items(reply.json().id, '?order=asc')).json();
  const status = 'completed';
  assert.equal(
    data.map(({ id, ...item }: { id: string }) => item),
    [
      { type: 'message', ...input[0], status, content: [{ type: 'input_image', image_url: image, detail: 'auto' }] },
      { type: 'message', ...input[1], content: [{ type: 'output_text', text: 'A', annotations: [], logprobs: [] }] },
      { ...input[2], summary: [] },
      { ...input[3], status },
      { ...input[4], status },
    ],
  );
});

test('the items that a response goes on from are listed, the last one first', async () => {
  const { respond, items } = responses();
  const first = (await respond({ input: 'One' })).json();
  const { id } = (await respond({ input: 'Two', previous_response_id: first.id })).json();
  const page = (await items(id)).json();
  const shown = (list: { data: { role: string; content: { text: string }[] }[] }) =>
    list.data.map(({ role, content }) => `${role} ${content[0]?.text}`);
  assert.equal(shown(page), ['user Two', 'assistant Hello!', 'user One']);
  assert.equal([page.object, page.has_more], ['list', false]);
  assert.equal([page.first_id, page.last_id], [page.data[0].id, page.data[2].id]);
  const ascending = (await items(id, '?order=asc&limit=2')).json();
  assert.equal([shown(ascending), ascending.has_more], [['user One', 'assistant Hello!'], true]);
  const rest = (await items(id, `?order=asc&after=${ascending.last_id}`)).json();
  assert.equal([shown(rest), rest.has_more], [['user Two'], false]);
  for (const [query, param] of [
    ['?order=up', 'order'],
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?limit=x', 'limit'],
    ['?after=x', 'after'],
  ] as const) {
    expectError(await items(id, query), { status: 400, code: 'invalid_value', param });
  }
  expectError(await items('resp_1'), missing);
});

test('one key never sees what another has', async () => {
  const { app, engine } = responses();
  const one = caller(app, { authorization: 'Key a:1' });
  const made = (await one.respond({ input: 'Secret' })).json();
  const [said] = made.output;
  const waiting = (await one.respond({ background: true })).json();
  const others = [{}, { authorization: 'Key a:2' }, { 'x-api-key': 'a:1' }, { authorization: 'Bearer a:1' }];
  for (const headers of others) {
    const other = caller(app, headers as Record<string, string>);
    for (const id of [made.id, waiting.id]) {
      for (const reply of [
        await other.get(id),
        await other.items(id),
        await other.cancel(id),
        await other.remove(id),
      ]) {
        expectError(reply, missing);
      }
    }
    const goingOn = await other.respond({ previous_response_id: made.id });
    expectError(goingOn, noPrevious);
    const referring = await other.respond({ input: [{ type: 'item_reference', id: said.id }] });
    expectError(referring, { ...missing, param: 'input[0].id' });
  }
  assert.is(engine.jobs.filter((job) => String(job.prompt).includes('Secret')).length, 1);
  assert.is((await one.get(made.id)).statusCode, 200);
});

test('the owner is the key that was valid, in whichever header it came', async () => {
  const options = { access: (key: string) => ['one', 'two'].includes(key) };
  const { app } = testApp({}, options, { ...runtime, authentication: 'bearer' });
  const one = caller(app, { authorization: 'Bearer one' });
  const { id } = (await one.respond({ input: 'Secret' })).json();
  const same = [
    { 'x-api-key': 'one' },
    { authorization: 'bearer  one' },
    { authorization: 'Bearer stale', 'x-api-key': 'one' },
  ];
  for (const headers of same) assert.is((await caller(app, headers).get(id)).statusCode, 200, JSON.stringify(headers));
  const other = caller(app, { authorization: 'Bearer stale', 'x-api-key': 'two' });
  const { id: theirs } = (await other.respond({ input: 'Mine' })).json();
  expectError(await caller(app, { authorization: 'Bearer stale', 'x-api-key': 'one' }).get(theirs), missing);
  expectError(await other.get(id), missing);
});

test('without a store nothing is kept, and requests that need one are told so', async () => {
  const { respond, get } = responses({}, { responses: null });
  const made = (await respond()).json();
  assert.is(made.store, false);
  const unsupported = { status: 400, code: 'unsupported_parameter' };
  expectError(await get(made.id), unsupported);
  expectError(await respond({ previous_response_id: made.id }), noPrevious);
  expectError(await respond({ input: [{ type: 'item_reference', id: 'a' }] }), {
    ...unsupported,
    param: 'input[0].id',
  });
  expectError(await respond({ background: true }), { ...unsupported, param: 'background' });
});

test('a response in the background is queued, computed, and there when it has ended', async () => {
  const { app, engine } = await listeningApp({ manual: true });
  const { respond, get, items } = caller(app);
  const queued = (await respond({ background: true })).json();
  assert.equal([queued.status, queued.background, queued.output], ['queued', true, []]);
  await until(() => engine.running.size === 1, 'the job is submitted');
  assert.is((await items(queued.id)).json().data.length, 1);
  engine.step();
  await until(async () => (await get(queued.id)).json().status === 'in_progress', 'it is under way');
  expectError(await respond({ previous_response_id: queued.id }), {
    status: 400,
    code: 'invalid_value',
    param: 'previous_response_id',
  });
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(async () => (await get(queued.id)).json().status === 'completed', 'it is completed');
  const done = (await get(queued.id)).json();
  assert.is(done.output[0].content[0].text, 'Hello!');
  assert.is(done.id, queued.id);
});

test('it is cancelled by its id, and its sequence is freed', async () => {
  const { app, engine } = await listeningApp({ manual: true });
  const { respond, cancel, get, remove } = caller(app);
  const { id } = (await respond({ background: true })).json();
  await until(() => engine.running.size === 1, 'the job is submitted');
  const cancelled = (await cancel(id)).json();
  assert.is(cancelled.status, 'cancelled');
  assert.is(engine.running.size, 0);
  assert.equal((await get(id)).json(), cancelled);
  // A finished response does not change.
  assert.equal((await cancel(id)).json(), cancelled);
  const second = (await respond({ background: true })).json();
  await until(() => engine.running.size === 1, 'the next job is submitted');
  assert.is((await remove(second.id)).statusCode, 200);
  assert.is(engine.running.size, 0);
  expectError(await get(second.id), missing);
});

test('requests without a body may say that theirs is JSON, as some clients always do', async () => {
  const { app, respond } = responses();
  const { id } = (await respond({ background: true })).json();
  const headers = { 'content-type': 'application/json' };
  const cancelled = await app.inject({ method: 'POST', url: `${URL}/${id}/cancel`, headers, payload: '' });
  assert.is(cancelled.statusCode, 200, cancelled.body);
  const deleted = await app.inject({ method: 'DELETE', url: `${URL}/${id}`, headers, payload: '' });
  assert.is(deleted.statusCode, 200, deleted.body);
});

test('a background failure is in the response', async () => {
  const { respond, get } = responses();
  const ended = async (body: object) => {
    const { id } = (await respond({ background: true, ...body })).json();
    await until(async () => !['queued', 'in_progress'].includes((await get(id)).json().status), 'it has ended');
    return (await get(id)).json();
  };
  const long = await ended({ input: 'x'.repeat(5000) });
  assert.equal([long.status, long.error.code], ['failed', 'context_length_exceeded']);
  const other = await ended({ model: 'other' });
  assert.equal([other.status, other.error.code], ['failed', 'model_not_found']);
});

test('invalid background requests are refused', async () => {
  const { respond, cancel, get } = responses();
  const unsupported = { status: 400, code: 'unsupported_parameter' };
  expectError(await respond({ background: true, store: false }), { ...unsupported, param: 'background' });
  const { id } = (await respond()).json();
  expectError(await cancel(id), { status: 400, code: 'invalid_value', param: 'id', says: /background/ });
  const waiting = (await respond({ background: true })).json();
  expectError(await get(`${waiting.id}?stream=true`), { ...unsupported, param: 'stream' });
  expectError(await get(`${id}?stream=true`), { ...unsupported, param: 'stream' });
});

test('all of a request that is computed in the background counts, and what it goes on from', async () => {
  const { app, engine } = await listeningApp({ model: { contextLength: 2 ** 30 } });
  const { respond } = caller(app);
  const text = 'x'.repeat(3.9 * 2 ** 20);
  const previous = (await respond({ input: text })).json().id;
  engine.play({ manual: true });
  const background = true;
  const tools = [{ type: 'web_search', note: text }];
  for (let n = 0; n < 8; n += 1) {
    for (const body of [{ tools }, { previous_response_id: previous }]) {
      assert.is((await respond({ background, ...body })).statusCode, 200);
    }
  }
  const full = { status: 429, type: 'rate_limit_error', code: 'queue_full', param: 'background' };
  expectError(await respond({ background, tools }), full);
  expectError(await respond({ background, previous_response_id: previous }), full);
  assert.is((await respond({ background })).statusCode, 200);
});

test('a response that cannot be stored is not computed in the background', async () => {
  class FullStore extends MemoryStore {
    override put(): void {
      throw new ChasquiError('store_failed', 'The disk is full.');
    }
  }
  const { app, engine } = await listeningApp({ manual: true }, { responses: new FullStore() });
  for (const stream of [false, true]) {
    const reply = await caller(app).respond({ background: true, stream });
    expectError(reply, { status: 500, type: 'server_error', code: 'store_failed' });
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(engine.jobs.length, 0);
});

test('a server that stops ends what it computes in the background', async () => {
  const { app, engine } = await listeningApp({ manual: true });
  await caller(app).respond({ background: true });
  await until(() => engine.running.size === 1, 'the job is submitted');
  await app.close();
  assert.is(engine.running.size, 0);
});

test('tokens are counted with what came before', async () => {
  const { app, respond } = responses();
  const { id } = (await respond({ input: 'One' })).json();
  const payload = JSON.stringify({ model: 'fake', input: 'Two', previous_response_id: id });
  const headers = { 'content-type': 'application/json' };
  const reply = await app.inject({ method: 'POST', url: `${URL}/input_tokens`, headers, payload });
  assert.is(reply.json().input_tokens, '<user>One<assistant>Hello!<user>Two'.length);
});

test.run();
