import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppOptions } from '../../ts/api/context.js';
import { SharedKeys } from '../../ts/keys/shared-keys.js';
import type { Profile } from '../../ts/profiles/profile.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { until } from '../support/until.js';

const test = suite('http: authentication');

test.after.each(closeApps);

const BASE = '/acme/chat';
const KEY = 'id:s3cr3t';
const PRIVATE: AppOptions = { deployment: { org: 'acme', app: 'chat' }, access: (key) => key === KEY };
const UNAUTHORIZED = { status: 401, type: 'authentication_error', code: 'invalid_api_key' };

const REFUSED: [authorization: string | undefined, says: RegExp][] = [
  [undefined, /has no Authorization header/],
  ['', /does not begin with `Key`/],
  [KEY, /does not begin with `Key`/],
  [`Bearer ${KEY}`, /`Bearer` is not accepted/],
  [`bearer ${KEY}`, /`Bearer` is not accepted/],
  [`Basic ${KEY}`, /does not begin with `Key`/],
  [`key ${KEY}`, /begins with `key` instead of `Key`/],
  [`KEY ${KEY}`, /begins with `KEY` instead of `Key`/],
  [`Key  ${KEY}`, /one space/],
  [`Key\t${KEY}`, /one space/],
  [`Key ${KEY} ${KEY}`, /one space/],
  ['Key', /one space/],
  [`Key${KEY}`, /does not begin with `Key`/],
  [`Key ${KEY}x`, /unknown or was revoked/],
  [`Key ${KEY.toUpperCase()}`, /unknown or was revoked/],
];

for (const [authorization, says] of REFUSED) {
  test(`refuses ${authorization ?? 'no header'}`, async () => {
    const { post, engine } = testApp({}, PRIVATE, serverless);
    const reply = await post('{ no JSON', authorization === undefined ? {} : { authorization });
    expectError(reply, { ...UNAUTHORIZED, says });
    assert.match(reply.json().error.message, 'the header `Authorization: Key <API_KEY>`');
    assert.is(reply.headers['www-authenticate'], 'Key');
    assert.not.match(reply.body, 's3cr3t');
    assert.is(engine.jobs.length, 0);
  });
}

test('lets the right key in', async () => {
  const { post, engine } = testApp({}, PRIVATE, serverless);
  const reply = await post(JSON.stringify(chatBody()), { authorization: `Key ${KEY}` });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(engine.jobs.length, 1);
});

test('a key is asked for before a path is looked for', async () => {
  const { app } = testApp({}, PRIVATE, serverless);
  for (const url of ['/', BASE, `${BASE}/v1/models`, `${BASE}/health`, '/v1/models', '/nowhere', '/health/x']) {
    expectError(await app.inject(url), UNAUTHORIZED);
  }
  expectError(await app.inject({ method: 'DELETE', url: `${BASE}/v1/models` }), UNAUTHORIZED);
  const nowhere = await app.inject({ url: '/nowhere', headers: { authorization: `Key ${KEY}` } });
  expectError(nowhere, { status: 404, type: 'not_found_error', code: 'unknown_url' });
});

test('whether the server is alive, everybody may ask; what it does, only who has a key', async () => {
  const { app } = testApp({}, PRIVATE, serverless);
  const reply = await app.inject('/health');
  assert.equal([reply.statusCode, reply.json()], [200, { status: 'ok' }]);
  const health = await app.inject({ url: `${BASE}/health`, headers: { authorization: `Key ${KEY}` } });
  assert.is(health.json().active, 0);
});

test('a check that fails lets nobody in', async () => {
  const broken = () => {
    throw new Error('secret detail');
  };
  const { post, serverErrors } = testApp({}, { ...PRIVATE, access: broken }, serverless);
  const reply = await post(JSON.stringify(chatBody()), { authorization: `Key ${KEY}` });
  expectError(reply, { status: 500, type: 'server_error', code: 'internal_error', says: /^(?!.*secret)/ });
  assert.is(serverErrors.length, 1);
});

test('the local modes look at no key', async () => {
  const { chat } = testApp({}, { access: () => false }, runtime);
  assert.is((await chat()).statusCode, 200);
});

test('a deployment is neither private nor public by oversight', () => {
  assert.throws(() => testApp({}, { deployment: { org: 'acme', app: 'chat' } }, serverless), /who may use/);
  assert.throws(() => testApp({}, { access: 'public' }, serverless), /organisation and an app/);
});

for (const name of ['', 'a/b', '..', 'a b', ':org', '*', 'ñ', 'x'.repeat(101)]) {
  test(`${name.slice(0, 9) || 'nothing'} is no name of an organisation or an app`, () => {
    for (const deployment of [
      { org: name, app: 'chat' },
      { org: 'acme', app: name },
    ]) {
      assert.throws(() => testApp({}, { access: 'public', deployment }, serverless), /URL path/);
    }
  });
}

test('a stranger is answered before the body comes, and the body is not read', async () => {
  const { app, url } = await listeningApp({}, PRIVATE, serverless);
  let received = 0;
  app.server.on('connection', (socket) => {
    socket.once('close', () => {
      received = socket.bytesRead;
    });
  });
  const body = Buffer.alloc(20 << 20, 'x');
  const reply = await post(url, body.length, null);
  assert.match(reply, /^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is);
  await post(url, body.length, body);
  await until(() => received > 1000, 'the connection with a body ends');
  assert.ok(received < body.length / 4, `${received} bytes were read`);
});

/** Announces a body, sends it or not, and returns what came until the other side closed. */
function post(url: string, length: number, body: Buffer | null): Promise<string> {
  const { hostname, port } = new URL(url);
  const head = `POST ${BASE}/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;
  return new Promise((resolve) => {
    let reply = '';
    const socket = net.connect(Number(port), hostname, () => {
      socket.write(head);
      if (body) socket.write(body);
    });
    socket.on('error', () => undefined);
    socket.on('data', (data) => (reply += data));
    socket.on('close', () => resolve(reply));
  });
}

const OWN: Profile = { ...runtime, authentication: 'bearer' };
const keys = new SharedKeys(['first', 'second']);
const ASKING: AppOptions = { access: (key) => keys.admits(key) };

const OPENED: Record<string, string>[] = [
  { authorization: 'Bearer first' },
  { authorization: 'bearer second' },
  { 'x-api-key': 'second' },
  { 'x-api-key': 'first', authorization: 'Basic x' },
];

for (const headers of OPENED) {
  test(`a local server that asks for keys is opened by ${JSON.stringify(headers)}`, async () => {
    const { app } = testApp({}, ASKING, OWN);
    assert.is((await app.inject({ url: '/v1/models', headers })).statusCode, 200);
  });
}

const NOT_OPENED: [headers: Record<string, string>, says: RegExp][] = [
  [{}, /has no API key/],
  [{ authorization: 'Key first' }, /has no API key/],
  [{ authorization: 'Bearer' }, /has no API key/],
  [{ authorization: 'Bearer first x' }, /has no API key/],
  [{ authorization: 'Bearer firs' }, /is not one of this server/],
  [{ 'x-api-key': 'First' }, /is not one of this server/],
  [{ 'x-api-key': '' }, /is not one of this server/],
];

for (const [headers, says] of NOT_OPENED) {
  test(`but not by ${JSON.stringify(headers)}`, async () => {
    const { post, app, engine } = testApp({}, ASKING, OWN);
    const reply = await post('{ no JSON', headers);
    expectError(reply, { ...UNAUTHORIZED, says });
    assert.match(reply.json().error.message, 'as `Authorization: Bearer <API_KEY>` or as `X-Api-Key: <API_KEY>`');
    assert.is(reply.headers['www-authenticate'], 'Bearer');
    expectError(await app.inject({ url: '/nowhere', headers }), UNAUTHORIZED);
    assert.is((await app.inject({ url: '/health/x', headers })).statusCode, 401);
    assert.is((await app.inject({ url: '/live', headers })).statusCode, 200);
    assert.is(engine.jobs.length, 0);
  });
}

test('its document says so, and that of others does not', async () => {
  const headers = { authorization: 'Bearer first' };
  const document = (await testApp({}, ASKING, OWN).app.inject({ url: '/openapi.json', headers })).json();
  assert.equal(document.security, [{ bearer: [] }, { apiKey: [] }]);
  assert.equal(Object.keys(document.components.securitySchemes), ['bearer', 'apiKey']);
  assert.is((await testApp().app.inject('/openapi.json')).json().security, undefined);
});

test.run();
