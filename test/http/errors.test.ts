import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { parseReply, sendBytes } from '../support/raw-client.js';

const test = suite('http: failures outside the body');

test.after.each(closeApps);

for (const contentType of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json', '']) {
  test(`Content-Type ${contentType} is refused`, async () => {
    const { post, engine } = testApp();
    const reply = await post(JSON.stringify(chatBody()), { 'content-type': contentType });
    expectError(reply, { status: 415, code: 'unsupported_media_type', says: /Content-Type: application\/json/ });
    assert.is(engine.jobs.length, 0);
  });
}

const OF_PAGES = [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }];

test('a body without a Content-Type is JSON, unless a web page sent it', async () => {
  const { post, engine } = testApp();
  assert.is((await post(JSON.stringify(chatBody()), {})).statusCode, 200);
  for (const headers of OF_PAGES) {
    expectError(await post(JSON.stringify(chatBody()), headers), { status: 415, code: 'unsupported_media_type' });
  }
  assert.is(engine.jobs.length, 1);
});

test('endpoints below /api read JSON of any Content-Type, unless a web page sent it', async () => {
  const { app, engine } = testApp();
  const payload = JSON.stringify(chatBody({ stream: false }));
  const send = (url: string, headers: Record<string, string>) => app.inject({ method: 'POST', url, headers, payload });
  for (const url of ['/api/chat', '//api//chat', '/api/v0/chat/completions']) {
    for (const type of ['application/x-www-form-urlencoded', 'application/octet-stream', 'text/plain', '']) {
      assert.is((await send(url, { 'content-type': type })).statusCode, 200, `${url} ${type}`);
      for (const headers of OF_PAGES) {
        assert.is((await send(url, { 'content-type': type, ...headers })).statusCode, 415, `${url} ${type}`);
      }
    }
    assert.is((await send(url, {})).statusCode, 200, url);
  }
  assert.is(engine.jobs.length, 15);
});

for (const contentType of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="utf-8"']) {
  test(`Content-Type ${contentType} is accepted`, async () => {
    const { post } = testApp();
    const reply = await post(JSON.stringify(chatBody()), { 'content-type': contentType });
    assert.is(reply.statusCode, 200, reply.body);
  });
}

test('no body at all', async () => {
  const { post } = testApp();
  expectError(await post(undefined, {}), { status: 400, code: 'invalid_json', says: /empty/ });
});

test('a body over the limit, announced or not', async () => {
  const { post, chat } = testApp({}, { bodyLimit: 1000 });
  const tooLarge = { status: 413, code: 'request_too_large', says: /limit, 1000 bytes/ };
  expectError(await chat({ user: 'x'.repeat(1000) }), tooLarge);
  expectError(
    await post('x'.repeat(1001), { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }),
    tooLarge,
  );
  assert.is((await chat({ user: 'x'.repeat(800) })).statusCode, 200);
});

test('a text of some megabytes is within the default limit', async () => {
  const { chat } = testApp();
  assert.is((await chat({ user: 'x'.repeat(4_000_000) })).statusCode, 200);
});

test('a prompt longer than the context, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const { chat, engine } = testApp({ model: { contextLength: 100 } });
    const reply = await chat({ stream, messages: [{ role: 'user', content: 'x'.repeat(200) }] });
    expectError(reply, { status: 400, code: 'context_length_exceeded', param: 'messages', says: /206.*100/ });
    // LiteLLM recognises the error by these words.
    assert.match(reply.json().error.message, 'maximum context length is 100 tokens');
    assert.is(engine.running.size, 0);
  }
});

test('an unknown model', async () => {
  const { chat } = testApp();
  const unknown = {
    status: 404,
    type: 'not_found_error',
    code: 'model_not_found',
    says: /`gpt-4o` is not served.*`fake`/,
  };
  expectError(await chat({ model: 'gpt-4o' }), { ...unknown, param: 'model' });
});

test('a template that refuses', async () => {
  const { chat } = testApp({
    renderWith: () => {
      throw new ChasquiError('template_failed', 'Roles must alternate.');
    },
  });
  expectError(await chat(), { status: 400, code: 'template_failed', param: 'messages', says: /alternate/ });
});

const UNKNOWN: [method: 'GET' | 'POST', path: string, says: RegExp][] = [
  ['GET', '/nowhere', /`GET \/nowhere` here\. `GET \/openapi\.json` lists the endpoints\.$/],
  ['POST', '/v1/images', /no `POST \/v1\/images`/],
  ['POST', '/messages', /mean `\/v1\/messages`\?.*must end in `\/v1`/],
  ['POST', '/v1/v1/chat/completions?x=1', /mean `\/v1\/chat\/completions`\?.*already ends in `\/v1`/],
  ['GET', '/v1/v1/models/org/name', /mean `\/v1\/models\/org\/name`\?/],
];

for (const [method, path, says] of UNKNOWN) {
  test(`nothing at ${method} ${path}`, async () => {
    const { app } = testApp();
    const headers = { 'content-type': 'text/plain' };
    const reply = await app.inject({ method, url: path, headers, ...(method === 'POST' ? { payload: '{' } : {}) });
    expectError(reply, { status: 404, type: 'not_found_error', code: 'unknown_url', says });
  });
}

const WRONG_METHOD: [method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS', path: string, allow: string][] = [
  ['GET', CHAT_PATH, 'POST'],
  ['OPTIONS', CHAT_PATH, 'POST'],
  ['POST', '/v1/models', 'GET, HEAD'],
  ['DELETE', '/v1/models/fake', 'GET, HEAD'],
  ['POST', '/health', 'GET, HEAD'],
  ['POST', '/', 'GET, HEAD'],
];

for (const [method, url, allow] of WRONG_METHOD) {
  test(`${method} ${url} is not allowed`, async () => {
    const { app } = testApp();
    const reply = await app.inject({ method, url, ...(method === 'POST' ? { payload: 'x' } : {}) });
    expectError(reply, { status: 405, code: 'method_not_allowed', says: new RegExp(method) });
    assert.is(reply.headers.allow, allow);
  });
}

test('a method that no path has is not allowed either, and nothing is there at a path that does not exist', async () => {
  const { url } = await listeningApp();
  const send = async (method: string, path: string) => {
    const bytes = await sendBytes(url, `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    return parseReply(bytes);
  };
  for (const [method, path, allow] of [
    ['TRACE', CHAT_PATH, 'POST'],
    ['PROPFIND', '/v1/models/any/name?a=b', 'GET, HEAD'],
    ['QUERY', '/v1/models', 'GET, HEAD'],
  ] as const) {
    const reply = await send(method, path);
    expectError(reply, { status: 405, code: 'method_not_allowed', says: new RegExp(`not ${method}\\.$`) });
    assert.is(reply.headers.allow, allow);
  }
  expectError(await send('TRACE', '/nothing'), { status: 404, type: 'not_found_error', code: 'unknown_url' });
});

for (const encoding of ['gzip', 'zstd', 'identity, gzip', '=?'.repeat(100)]) {
  test(`a body with Content-Encoding ${encoding.slice(0, 20)} is refused unread`, async () => {
    const { post, engine } = testApp();
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    const reply = await post(JSON.stringify(chatBody()), headers);
    expectError(reply, { status: 415, code: 'unsupported_media_type', says: /as it is: .* `Content-Encoding: / });
    assert.is(engine.jobs.length, 0);
  });
}

test('a body is taken whose encoding is none', async () => {
  const { post } = testApp();
  for (const encoding of ['identity', 'Identity', '']) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    assert.is((await post(JSON.stringify(chatBody()), headers)).statusCode, 200, encoding);
  }
});

test('a path that cannot be decoded', async () => {
  const { app } = testApp();
  expectError(await app.inject('/v1/models/%E0%A4%A'), { status: 400, code: 'bad_request', says: /valid url/ });
});

test('an error of our own is reported in full, and told in brief', async () => {
  for (const stream of [false, true]) {
    const failWith = new TypeError('secret detail');
    const { chat, serverErrors } = testApp({ failAt: 0, failWith });
    const reply = await chat({ stream });
    expectError(reply, { status: 500, type: 'server_error', code: 'internal_error', says: /^(?!.*secret)/ });
    assert.equal(serverErrors, [failWith]);
  }
});

const BROKEN: [name: string, bytes: string, status: number, code: string][] = [
  ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
  ['headers without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ['a length that is none', `POST ${CHAT_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n`, 400, 'bad_request'],
];

for (const [name, bytes, status, code] of BROKEN) {
  test(`bytes that are ${name}`, async () => {
    const { url } = await listeningApp();
    expectError(parseReply(await sendBytes(url, bytes)), { status, code });
  });
}

test('a request that takes too long to arrive', async () => {
  const { app, url } = await listeningApp();
  assert.ok(app.server.requestTimeout > 0);
  app.server.once('connection', (socket) => {
    app.server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  });
  expectError(parseReply(await sendBytes(url, 'POST ')), { status: 408, code: 'request_timeout' });
});

test('an unknown path replies in the form of Anthropic to its clients', async () => {
  const { app } = testApp();
  const headers = { 'anthropic-version': '2023-06-01' };
  const reply = await app.inject({ url: '/v1/skills', headers });
  const { type, error, request_id } = reply.json();
  assert.equal([reply.statusCode, type, error.type], [404, 'error', 'not_found_error']);
  assert.equal([request_id, reply.headers['request-id']], [reply.headers['x-request-id'], request_id]);
  assert.is((await app.inject('/v1/skills')).json().type, undefined);
});

test.run();
