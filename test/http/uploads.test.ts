// Uploaded files: each belongs to a key, and conversations name them by `file_id`.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryStore } from '../../ts/api/openai/responses/store/memory-store.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { picture } from '../support/image-files.js';
import { DEPLOYMENT } from '../support/modes.js';
import { pdfOf } from '../support/pdf-file.js';

const test = suite('http: uploaded files');

const URL = '/v1/files';

async function formOf(fields: Record<string, string | Blob>): Promise<{ payload: Buffer; type: string }> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.set(name, value);
    else form.set(name, value, 'a b.txt');
  }
  const response = new Response(form);
  return { payload: Buffer.from(await response.arrayBuffer()), type: String(response.headers.get('content-type')) };
}

/** Requests of one key. */
function caller(app: FastifyInstance, key = 'one', url = URL) {
  const headers = { authorization: `Bearer ${key}` };
  const send = async (fields: Record<string, string | Blob>, more: Record<string, string> = {}) => {
    const { payload, type } = await formOf(fields);
    return app.inject({ method: 'POST', url, headers: { ...headers, 'content-type': type, ...more }, payload });
  };
  const askWith = (content: readonly object[]) =>
    app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { ...headers, 'content-type': 'application/json' },
      payload: JSON.stringify({ model: 'fake', input: [{ role: 'user', content }] }),
    });
  return {
    send,
    upload: async (content: string | Buffer, purpose = 'assistants') =>
      (await send({ file: new Blob([content]), purpose })).json(),
    get: (path = '') => app.inject({ method: 'GET', url: url + path, headers }),
    remove: (id: string) => app.inject({ method: 'DELETE', url: `${url}/${id}`, headers }),
    askWith,
    ask: (file_id: string) => askWith([{ type: 'input_file', file_id }]),
  };
}

test('a file is uploaded, listed, read and deleted', async () => {
  const { upload, get, remove } = caller(testApp().app);
  const file = await upload('Hello');
  const { id, created_at, ...rest } = file;
  assert.match(id, /^file-/);
  assert.ok(Math.abs(created_at - Date.now() / 1000) < 60);
  assert.equal(rest, { object: 'file', bytes: 5, filename: 'a b.txt', purpose: 'assistants', status: 'processed' });
  assert.equal((await get(`/${id}`)).json(), file);
  const content = await get(`/${id}/content`);
  assert.equal([content.headers['content-type'], content.body], ['application/octet-stream', 'Hello']);
  const list = { object: 'list', data: [file], first_id: id, last_id: id, has_more: false };
  assert.equal((await get()).json(), list);
  assert.equal((await remove(id)).json(), { id, object: 'file', deleted: true });
  const missing = { status: 404, type: 'not_found_error', code: 'response_not_found', param: 'id' };
  for (const reply of [await get(`/${id}`), await get(`/${id}/content`), await remove(id)]) expectError(reply, missing);
  assert.equal((await get()).json().data, []);
});

test('a conversation names a file', async () => {
  const { app, engine } = testApp();
  const { upload, ask, remove } = caller(app);
  const { id } = await upload(pdfOf(['Hello']));
  const reply = await ask(id);
  assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
  assert.is(engine.jobs.at(-1)?.prompt, '<user><document>\nHello\n</document>');
  const user = (part: object) => ({ messages: [{ role: 'user', content: [part] }], model: 'fake', max_tokens: 9 });
  const source = { type: 'file', file_id: id };
  for (const [url, body] of [
    ['/v1/chat/completions', user({ type: 'file', file: { file_id: id } })],
    ['/v1/messages', user({ type: 'document', source })],
  ] as const) {
    const headers = { authorization: 'Bearer one', 'content-type': 'application/json' };
    await app.inject({ method: 'POST', url, headers, payload: JSON.stringify(body) });
    assert.is(engine.jobs.at(-1)?.prompt, '<user><document>\nHello\n</document>', url);
  }
  const counted = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions/input_tokens',
    headers: { authorization: 'Bearer one', 'content-type': 'application/json' },
    payload: JSON.stringify(user({ type: 'file', file: { file_id: id } })),
  });
  assert.is(counted.json().input_tokens, engine.jobs.at(-1)?.prompt.length);
  await remove(id);
  assert.is(decodeURIComponent(String((await ask(id)).headers['x-chasqui-ignored'])), 'input[0].content[0]');
});

test('a file belongs to its key', async () => {
  const { app, engine } = testApp();
  const { id } = await caller(app).upload('Secret');
  const other = caller(app, 'two');
  for (const path of ['', '/content']) assert.is((await other.get(`/${id}${path}`)).statusCode, 404);
  assert.is((await other.remove(id)).statusCode, 404);
  assert.equal((await other.get()).json().data, []);
  await other.ask(id);
  assert.not.match(String(engine.jobs.at(-1)?.prompt), /Secret/);
  // Other stored entries are no files.
  const made = await caller(app).ask(id);
  assert.is((await caller(app).get(`/${made.json().id}`)).statusCode, 404);
  assert.is((await caller(app).get(`/data-${id}`)).statusCode, 404);
});

const image = (file_id: string) => ({ type: 'input_image', file_id });
const shown = (...content: object[]) => ({ input: [{ role: 'user', content }] });
const call = { call_id: 'a', status: 'completed' };

/** Requests with an image by `file_id`, and the path of that field. */
const IMAGES: [url: string, body: (id: string) => object, param: string][] = [
  ['/v1/responses', (id) => shown(image(id)), 'input[0].content[0].file_id'],
  ['/v1/responses', (id) => shown({ ...image(id), image_url: null }), 'input[0].content[0].file_id'],
  [
    '/v1/responses',
    (id) => ({
      input: [
        { type: 'function_call', name: 'f', arguments: '{}', ...call },
        { type: 'function_call_output', output: [image(id)], ...call },
      ],
    }),
    'input[1].output[0].file_id',
  ],
  [
    '/v1/responses',
    (id) => ({
      input: [
        { type: 'computer_call', action: { type: 'screenshot' }, ...call },
        { type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: id }, ...call },
      ],
    }),
    'input[1].output.file_id',
  ],
  [
    '/v1/messages',
    (file_id) => ({
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id } }] }],
    }),
    'messages[0].content[0].source.file_id',
  ],
];

test('images are uploaded files of the same key', async () => {
  const { app, engine } = testApp({
    model: { vision: true, takesTools: true, imageMarker: '<image>', inputModalities: ['text', 'image'] },
  });
  const bytes = await picture('png');
  const { upload } = caller(app);
  const [{ id }, { id: text }] = [await upload(bytes), await upload('text')];
  for (const [url, body, param] of IMAGES) {
    const ask = (file: string, key = 'one') =>
      app.inject({
        method: 'POST',
        url,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ model: 'fake', ...body(file) }),
      });
    const reply = await ask(id);
    assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
    assert.equal(engine.jobs.at(-1)?.images, [{ bytes }], param);
    const { length } = engine.jobs;
    const missing = { status: 400, param, says: /names no uploaded file/ };
    for (const refused of [await ask(id, 'two'), await ask('file-1')]) {
      if (url === '/v1/messages') assert.match(refused.json().error.message, missing.says);
      else expectError(refused, { ...missing, code: 'invalid_value' });
    }
    const wrong = await ask(text);
    assert.equal([wrong.statusCode, engine.jobs.length], [400, length]);
    assert.match(wrong.body, 'no PNG, JPEG, WebP, GIF or BMP');
    assert.ok(wrong.body.includes(param), wrong.body);
  }
});

test('images that name large files are bounded together', async () => {
  const { app, engine } = testApp({
    model: { vision: true, imageMarker: '<image>', inputModalities: ['text', 'image'] },
  });
  const { upload, askWith } = caller(app);
  const { id } = await upload(Buffer.concat([await picture('png'), Buffer.alloc(19 * 2 ** 20)]));
  const refused = await askWith(Array(4).fill(image(id)));
  expectError(refused, { status: 400, code: 'image_too_large', param: 'input[0].content[3].file_id' });
  assert.is(engine.jobs.length, 0);
});

test('lists have pages', async () => {
  const { upload, get } = caller(testApp().app);
  const made = [await upload('1'), await upload('2', 'batch'), await upload('3')];
  const ids = async (query: string) => (await get(query)).json().data.map(({ id }: { id: string }) => id);
  const sorted = await ids('?order=asc');
  assert.equal([...sorted].sort(), made.map(({ id }) => id).sort());
  assert.equal(await ids('?order=desc&limit=2'), [sorted[2], sorted[1]]);
  assert.equal(await ids(`?order=asc&after=${sorted[0]}`), sorted.slice(1));
  assert.equal(await ids('?purpose=batch'), [made[1].id]);
  for (const [query, param] of [
    ['?limit=0', 'limit'],
    ['?limit=x', 'limit'],
    ['?order=up', 'order'],
    ['?after=x', 'after'],
  ] as const) {
    expectError(await get(query), { status: 400, code: 'invalid_value', param });
  }
});

test('uploads that are wrong are refused', async () => {
  const { app } = testApp();
  const { send } = caller(app);
  const file = new Blob(['a']);
  expectError(await send({ purpose: 'a' }), { status: 400, code: 'missing_required_parameter', param: 'file' });
  expectError(await send({ file: 'text' }), { status: 400, code: 'invalid_type', param: 'file' });
  expectError(await send({ file, purpose: 'a'.repeat(65) }), { status: 400, code: 'invalid_value', param: 'purpose' });
  const large = new Blob([Buffer.alloc(20 * 2 ** 20 + 1)]);
  expectError(await send({ file: large }), { status: 413, code: 'request_too_large', param: 'file' });
  const post = (payload: string | Buffer, type: string) =>
    app.inject({ method: 'POST', url: URL, headers: { 'content-type': type }, payload });
  const bad = { status: 400, code: 'bad_request' };
  for (const [payload, type] of [
    ['', 'multipart/form-data; boundary=x'],
    ['--x\r\n', 'multipart/form-data; boundary=x'],
    ['--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na', 'multipart/form-data; boundary=x'],
    ['--x--', 'multipart/form-data'],
    [Buffer.from([0, 255, 13, 10]), 'multipart/form-data; boundary=x'],
  ] as const) {
    expectError(await post(payload, type), bad);
  }
  expectError(await post('{"file":"a"}', 'application/json'), { status: 415, code: 'unsupported_media_type' });
  expectError(await post('a', 'text/plain'), { status: 415, code: 'unsupported_media_type' });
  const part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
  expectError(await post(`${part.repeat(400_000)}--x--`, 'multipart/form-data; boundary=x'), bad);
});

test('a web page needs a key to upload', async () => {
  const { app } = testApp();
  const { payload, type } = await formOf({ file: new Blob(['a']) });
  const headers = { 'content-type': type, origin: 'https://example.com' };
  const upload = (more: object) => app.inject({ method: 'POST', url: URL, headers: { ...headers, ...more }, payload });
  const expected = { status: 403, type: 'permission_error', code: 'origin_not_allowed' };
  expectError(await upload({}), expected);
  assert.is((await upload({ authorization: 'Bearer a' })).statusCode, 200);
});

test('no other endpoint takes forms, and a server without a store takes no files', async () => {
  const { app } = testApp();
  const { payload, type } = await formOf({ file: new Blob(['a']) });
  const chat = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { 'content-type': type },
    payload,
  });
  expectError(chat, { status: 415, code: 'unsupported_media_type' });
  const none = caller(testApp({}, { responses: null }).app);
  const refused = await none.send({ file: new Blob(['a']) });
  expectError(refused, { status: 400, code: 'unsupported_parameter', param: 'file' });
  assert.equal((await none.get()).json().data, []);
});

test('a full store evicts the content of old files', async () => {
  const responses = new MemoryStore({ maxResponses: 4, maxBytes: 2 ** 30, maxAgeMs: 1e9 });
  const { upload, get } = caller(testApp({}, { responses }).app);
  const first = await upload('1');
  await upload('2');
  const last = await upload('3');
  assert.is((await get(`/${first.id}/content`)).statusCode, 404);
  assert.is((await get(`/${last.id}/content`)).body, '3');
});

test('apps take uploads, too', async () => {
  const { app } = testApp({}, { deployment: DEPLOYMENT, access: 'public' }, serverless);
  const { upload } = caller(app, 'one', `/${DEPLOYMENT.org}/${DEPLOYMENT.app}${URL}`);
  assert.is((await upload('a')).object, 'file');
});

test.run();
