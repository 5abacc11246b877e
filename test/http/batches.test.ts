// Batches: files of requests that the server runs at the lowest priority.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryStore } from '../../ts/api/openai/responses/store/memory-store.js';
import { ownerOf } from '../../ts/api/shared/owner.js';
import { ChasquiError } from '../../ts/errors.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeEngine } from '../support/fake-engine.js';
import { until } from '../support/until.js';

const test = suite('http: batches');

const CHATS = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];

function line(custom_id: unknown, body: object = { model: 'fake', messages }, more: object = {}): string {
  return `${JSON.stringify({ custom_id, method: 'POST', url: CHATS, body, ...more })}\n`;
}

/** Requests of one key. */
function caller(app: FastifyInstance, key = 'one') {
  const headers = { authorization: `Bearer ${key}` };
  const post = (url: string, body: unknown) =>
    app.inject({
      method: 'POST',
      url,
      headers: { ...headers, 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    });
  const get = (url: string) => app.inject({ method: 'GET', url, headers });
  const upload = async (content: string | Buffer): Promise<string> => {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob([content]), 'batch.jsonl');
    const response = new Response(form);
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/files',
      headers: { ...headers, 'content-type': String(response.headers.get('content-type')) },
      payload: Buffer.from(await response.arrayBuffer()),
    });
    return reply.json().id;
  };
  const create = async (content: string | Buffer, more: object = {}) =>
    post('/v1/batches', { input_file_id: await upload(content), endpoint: CHATS, completion_window: '24h', ...more });
  const read = async (id: string) => (await get(`/v1/batches/${id}`)).json();
  const ended = async (id: string) => {
    await until(async () => /ed$/.test((await read(id)).status), 'the batch has ended');
    return read(id);
  };
  const lines = async (file: string | null): Promise<{ custom_id: string; response: Reply; error: unknown }[]> => {
    if (file === null) return [];
    const { body } = await get(`/v1/files/${file}/content`);
    return body
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each));
  };
  return { post, get, upload, create, read, ended, lines };
}

interface Reply {
  status_code: number;
  request_id: string;
  body: { object: string; error: { code: string } };
}

/** Lets one of the running requests complete. */
async function finishOne(engine: FakeEngine): Promise<void> {
  const [first] = engine.running;
  while (first !== undefined && engine.running.has(first)) {
    first.step();
    await new Promise(setImmediate);
  }
}

test('the requests of a file run, and their replies are in two files', async () => {
  const { app, engine } = testApp();
  const { create, ended, lines, get } = caller(app);
  const metadata = { topic: 'tests' };
  const content = `${line('a')}\r\n${line('b', { model: 'other', messages })}${line('c', { model: 'fake' })}${line('d')}`;
  const created = await create(content, { metadata });
  assert.is(created.statusCode, 200, created.body);
  const batch = await ended(created.json().id);
  assert.equal([batch.object, batch.status, batch.endpoint, batch.errors], ['batch', 'completed', CHATS, null]);
  assert.equal(batch.request_counts, { total: 4, completed: 2, failed: 2 });
  assert.equal(batch.metadata, metadata);
  assert.equal(batch.usage, {
    input_tokens: 16,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 24,
  });
  assert.is(batch.expires_at - batch.created_at, 24 * 60 * 60);
  const output = await lines(batch.output_file_id);
  assert.equal(output.map(({ custom_id }) => custom_id).sort(), ['a', 'd']);
  for (const { response, error } of output) {
    assert.equal([response.status_code, response.body.object, error], [200, 'chat.completion', null]);
    assert.match(response.request_id, /^req_/);
  }
  const errors = (await lines(batch.error_file_id)).sort((one, other) => (one.custom_id < other.custom_id ? -1 : 1));
  assert.equal(
    errors.map(({ custom_id, response }) => [custom_id, response.status_code, response.body.error.code]),
    [
      ['b', 404, 'model_not_found'],
      ['c', 400, 'missing_required_parameter'],
    ],
  );
  assert.equal(
    engine.jobs.map(({ priority }) => priority),
    [-100, -100],
  );
  const file = (await get(`/v1/files/${batch.output_file_id}`)).json();
  assert.equal([file.purpose, file.filename], ['batch_output', `${batch.id}_output.jsonl`]);
  assert.equal((await get('/v1/batches')).json().data, [batch]);
});

test('each endpoint takes batches', async () => {
  const { app } = testApp();
  const { create, ended } = caller(app);
  for (const [endpoint, body] of [
    ['/v1/completions', { model: 'fake', prompt: 'Once' }],
    ['/v1/embeddings', { model: 'fake', input: 'Once' }],
    ['/v1/responses', { model: 'fake', input: 'Once' }],
  ] as const) {
    const { id } = (await create(line('a', body, { url: endpoint }), { endpoint })).json();
    const { request_counts, usage } = await ended(id);
    assert.equal(request_counts, { total: 1, completed: 1, failed: 0 }, endpoint);
    assert.ok(usage.input_tokens > 0 && usage.total_tokens === usage.input_tokens + usage.output_tokens, endpoint);
  }
});

test('a file with wrong lines fails as a whole', async () => {
  const { app, engine } = testApp();
  const { create, ended } = caller(app);
  const wrong: [content: string | Buffer, code: string, param: string | null][] = [
    ['{', 'invalid_json', null],
    ['[]', 'invalid_type', null],
    ['null', 'invalid_type', null],
    [Buffer.from([0xff]), 'invalid_json', null],
    [line(1), 'invalid_value', 'custom_id'],
    [line(''), 'invalid_value', 'custom_id'],
    [line('a'.repeat(257)), 'invalid_value', 'custom_id'],
    [line('a') + line('a'), 'invalid_value', 'custom_id'],
    [line('a', undefined, { method: 'GET' }), 'invalid_value', 'method'],
    [line('a', undefined, { url: '/v1/completions' }), 'invalid_value', 'url'],
    [line('a', undefined, { url: 'http://127.0.0.1/x' }), 'invalid_value', 'url'],
    [line('a', undefined, { body: 'text' }), 'invalid_value', 'body'],
    [line('a', { stream: true }), 'invalid_value', 'body.stream'],
    [line('a', { background: true }), 'invalid_value', 'body.background'],
    ['['.repeat(10_000_000), 'invalid_value', null],
    [' \n\n', 'invalid_value', null],
    ['\n'.repeat(20 * 2 ** 20), 'request_too_large', null],
    ['{}\n'.repeat(60_000), 'invalid_value', 'custom_id'],
  ];
  for (const [content, code, param] of wrong) {
    const { id } = (await create(content)).json();
    const batch = await ended(id);
    const shown = `${content.slice(0, 60)}`;
    assert.equal([batch.status, batch.output_file_id], ['failed', null], shown);
    const { data } = batch.errors;
    assert.equal([data[0].code, data[0].param], [code, param], shown);
    assert.ok(data.length <= 100);
  }
  assert.is(engine.jobs.length, 0);
});

test('wrong requests are refused', async () => {
  const { app } = testApp();
  const { post, get, upload, create, ended } = caller(app);
  const input_file_id = await upload(line('a'));
  const body = { input_file_id, endpoint: CHATS };
  for (const [changes, code, param] of [
    [{ input_file_id: undefined }, 'missing_required_parameter', 'input_file_id'],
    [{ input_file_id: 'file-x' }, 'invalid_value', 'input_file_id'],
    [{ input_file_id: `data-${input_file_id}` }, 'invalid_value', 'input_file_id'],
    [{ input_file_id: 7 }, 'invalid_type', 'input_file_id'],
    [{ endpoint: '/v1/batches' }, 'invalid_value', 'endpoint'],
    [{ completion_window: '0h' }, 'invalid_value', 'completion_window'],
    [{ completion_window: '337h' }, 'invalid_value', 'completion_window'],
    [{ completion_window: 'soon' }, 'invalid_value', 'completion_window'],
    [{ metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
  ] as const) {
    expectError(await post('/v1/batches', { ...body, ...changes }), { status: 400, code, param });
  }
  const missing = { status: 404, type: 'not_found_error', code: 'response_not_found', param: 'id' };
  for (const id of ['batch_x', input_file_id]) {
    expectError(await get(`/v1/batches/${id}`), missing);
    expectError(await post(`/v1/batches/${id}/cancel`, {}), missing);
  }
  expectError(await get('/v1/batches?limit=0'), { status: 400, code: 'invalid_value', param: 'limit' });
  const { id } = (await create(line('a'))).json();
  await ended(id);
  expectError(await post(`/v1/batches/${id}/cancel`, {}), { status: 400, code: 'invalid_value', param: 'id' });
  const none = caller(testApp({}, { responses: null }).app);
  const refused = await none.post('/v1/batches', body);
  expectError(refused, { status: 400, code: 'unsupported_parameter', param: null });
});

test('a batch belongs to its key', async () => {
  const { app } = testApp();
  const one = caller(app);
  const two = caller(app, 'two');
  const input_file_id = await one.upload(line('a'));
  const stolen = await two.post('/v1/batches', { input_file_id, endpoint: CHATS });
  expectError(stolen, { status: 400, code: 'invalid_value', param: 'input_file_id' });
  const { id } = (await one.create(line('a'))).json();
  const batch = await one.ended(id);
  assert.is((await two.get(`/v1/batches/${id}`)).statusCode, 404);
  assert.is((await two.post(`/v1/batches/${id}/cancel`, {})).statusCode, 404);
  assert.is((await two.get(`/v1/files/${batch.output_file_id}/content`)).statusCode, 404);
  assert.equal((await two.get('/v1/batches')).json().data, []);
});

test('cancelling ends the running requests and keeps the results', async () => {
  const { app, engine } = testApp({ manual: true });
  const { create, ended, post, lines } = caller(app);
  const { id } = (await create(Array.from({ length: 20 }, (_, n) => line(`line ${n}`)).join(''))).json();
  await until(() => engine.running.size === 8, 'eight requests run');
  await finishOne(engine);
  await until(() => engine.jobs.length === 9, 'another request has begun');
  assert.is((await post(`/v1/batches/${id}/cancel`, {})).json().status, 'cancelling');
  const batch = await ended(id);
  assert.equal(batch.status, 'cancelled');
  assert.equal(batch.request_counts, { total: 20, completed: 1, failed: 0 });
  assert.ok(batch.cancelling_at && batch.cancelled_at);
  assert.is((await lines(batch.output_file_id)).length, 1);
  await until(() => engine.running.size === 0, 'the engine has cancelled the others');
  assert.is((await post(`/v1/batches/${id}/cancel`, {})).json().status, 'cancelled');
});

test('a batch waits for that of the same key, and can be cancelled before it runs', async () => {
  const { app, engine } = testApp({ manual: true });
  const { create, ended, post, read } = caller(app);
  const { id: running } = (await create(line('a'))).json();
  await until(() => engine.running.size === 1, 'the first batch runs');
  const { id: waiting } = (await create(line('b'))).json();
  const { id: other } = (await caller(app, 'two').create(line('c'))).json();
  await until(() => engine.running.size === 2, 'the batch of another key runs');
  assert.equal([(await read(running)).status, (await read(waiting)).status], ['in_progress', 'validating']);
  await post(`/v1/batches/${waiting}/cancel`, {});
  assert.is((await ended(waiting)).status, 'cancelled');
  for (const [key, id] of [
    ['one', running],
    ['two', other],
  ] as const) {
    const mine = caller(app, key);
    await mine.post(`/v1/batches/${id}/cancel`, {});
    await mine.ended(id);
  }
});

test('a batch continues where it was after the server has stopped', async () => {
  const responses = new MemoryStore();
  const owner = ownerOf({ headers: { authorization: 'Bearer one' } }, false) ?? '';
  const before = testApp({ manual: true }, { responses });
  const { id } = (await caller(before.app).create(line('a') + line('b') + line('c'))).json();
  await until(() => before.engine.running.size === 3, 'three requests run');
  await finishOne(before.engine);
  await until(() => responses.list(owner, 'data-batch_').length === 1, 'the first result is stored');
  await before.app.close();
  const after = testApp({}, { responses });
  const { ended, lines, read } = caller(after.app);
  assert.is((await read(id)).status, 'in_progress');
  const batch = await ended(id);
  assert.equal([batch.status, batch.request_counts], ['completed', { total: 3, completed: 3, failed: 0 }]);
  assert.equal((await lines(batch.output_file_id)).map(({ custom_id }) => custom_id).sort(), ['a', 'b', 'c']);
  assert.is(after.engine.jobs.length, 2);
});

test('requests that have not run when the batch expires are reported', async () => {
  const responses = new MemoryStore();
  const owner = ownerOf({ headers: { authorization: 'Bearer one' } }, false) ?? '';
  const before = testApp({ manual: true }, { responses });
  const { id } = (await caller(before.app).create(line('a'))).json();
  await until(() => before.engine.running.size === 1, 'the request runs');
  await before.app.close();
  const stored = responses.read(owner, id);
  assert.ok(stored !== null && 'batch' in stored);
  responses.put(owner, { ...stored, batch: { ...stored.batch, expires_at: 1 } });
  const { ended, lines } = caller(testApp({ manual: true }, { responses }).app);
  const batch = await ended(id);
  assert.equal([batch.status, batch.request_counts], ['expired', { total: 1, completed: 0, failed: 1 }]);
  const [{ custom_id, response, error }] = (await lines(batch.error_file_id)) as [Awaited<ReturnType<typeof lines>>[0]];
  assert.equal([custom_id, response], ['a', null]);
  assert.is((error as { code: string }).code, 'batch_expired');
});

test('requests are repeated while the server is busy', async () => {
  const busy = new ChasquiError('server_busy', 'Busy.');
  busy.retryAfterSeconds = 0;
  const { app, engine } = testApp({ failAt: 0, failWith: busy });
  const { create, ended } = caller(app);
  const { id } = (await create(line('a'))).json();
  await until(() => engine.jobs.length >= 3, 'the request is repeated');
  engine.play({ failAt: -1 });
  assert.equal((await ended(id)).request_counts, { total: 1, completed: 1, failed: 0 });
});

test('results above the limit end the batch', async () => {
  const { app, engine } = testApp({ batches: () => [[{ text: 'x'.repeat(2 ** 21) }]] });
  const { create, ended, lines } = caller(app);
  const { id } = (await create(Array.from({ length: 40 }, (_, n) => line(`${n}`)).join(''))).json();
  const batch = await ended(id);
  const { total, completed, failed } = batch.request_counts;
  assert.equal([batch.status, total, completed + failed], ['completed', 40, 40]);
  assert.ok(completed >= 10 && completed < 20, `${completed} requests ran`);
  assert.is(engine.jobs.length, completed);
  for (const { response } of await lines(batch.error_file_id)) assert.is(response.status_code, 413);
});

test('a store that cannot be written ends the batch only', async () => {
  const responses = new MemoryStore();
  const put = responses.put.bind(responses);
  responses.put = (owner, stored) => {
    if ('data' in stored && stored.data.id.startsWith('data-batch_')) throw new ChasquiError('store_failed', 'Full.');
    put(owner, stored);
  };
  const { app } = testApp({}, { responses });
  const { create, ended } = caller(app);
  const batch = await ended((await create(line('a'))).json().id);
  assert.equal([batch.status, batch.errors.data[0].code], ['failed', 'store_failed']);
  responses.put = put;
  assert.is((await ended((await create(line('a'))).json().id)).status, 'completed');
});

test.run();
