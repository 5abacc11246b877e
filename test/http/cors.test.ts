import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppOptions } from '../../ts/api/context.js';
import { desktop } from '../../ts/profiles/desktop.js';
import type { Profile } from '../../ts/profiles/profile.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { CHAT_PATH, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: web pages of other origins');

const DEPLOYED: AppOptions = { deployment: { org: 'acme', app: 'chat' }, access: (key) => key === 'k' };
const LOCAL = ['http://localhost', 'http://localhost:3000', 'https://127.0.0.1:8443', 'http://[::1]:5173'];
const SHELLS = ['http://app.localhost', 'tauri://localhost', 'http://127.1.2.3'];
const FOREIGN = [
  'https://evil.example',
  'http://localhost.evil.example',
  'http://127.0.0.1.evil.example',
  'http://evillocalhost',
  'http://10.0.0.1',
  'null',
  'no origin',
];

interface Preflight {
  profile: Profile;
  origin: string;
  options?: AppOptions;
}

async function preflight({ profile, origin, options = {} }: Preflight) {
  const base = options.deployment ? '/acme/chat' : '';
  const { app } = testApp({}, options, profile);
  return app.inject({
    method: 'OPTIONS',
    url: base + CHAT_PATH,
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
}

for (const profile of [runtime, desktop]) {
  for (const origin of [...LOCAL, ...SHELLS]) {
    test(`${profile.mode}: a page of ${origin} may use it`, async () => {
      const reply = await preflight({ profile, origin });
      assert.equal([reply.statusCode, reply.body], [200, '']);
      assert.is(reply.headers['access-control-allow-origin'], origin);
      assert.is(reply.headers['access-control-allow-methods'], 'GET, HEAD, POST, DELETE');
      assert.is(reply.headers['access-control-allow-headers'], 'authorization,content-type');
      assert.match(String(reply.headers.vary), /Origin/);

      const { post } = testApp({}, {}, profile);
      const answer = await post('{}', { 'content-type': 'application/json', origin });
      assert.is(answer.statusCode, 400, 'errors can be read too');
      assert.is(answer.headers['access-control-allow-origin'], origin);
      assert.match(String(answer.headers['access-control-expose-headers']), /x-chasqui-ignored/);
    });
  }

  for (const origin of FOREIGN) {
    test(`${profile.mode}: a page of ${origin} may not`, async () => {
      const reply = await preflight({ profile, origin });
      expectError(reply, { status: 405, code: 'method_not_allowed' });
      assert.is(reply.headers['access-control-allow-origin'], undefined);
    });
  }
}

test('streams carry the headers too', async () => {
  const { app } = testApp();
  const reply = await app.inject({
    method: 'POST',
    url: CHAT_PATH,
    headers: { 'content-type': 'application/json', origin: 'http://localhost:3000' },
    payload: JSON.stringify({ model: 'fake', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  assert.match(String(reply.headers['content-type']), /event-stream/);
  assert.is(reply.headers['access-control-allow-origin'], 'http://localhost:3000');
});

test('a local server with a key replies to preflights as one without', async () => {
  const profile = { ...runtime, authentication: 'bearer' as const };
  const options = { access: (key: string) => key === 'secret' };
  const allowed = await preflight({ profile, origin: 'http://localhost:3000', options });
  assert.is(allowed.statusCode, 200);
  const other = await preflight({ profile, origin: 'https://evil.example', options });
  expectError(other, { status: 405, code: 'method_not_allowed' });
  assert.is(other.headers['access-control-allow-origin'], undefined);
  const { app } = testApp({}, options, profile);
  assert.is((await app.inject({ method: 'OPTIONS', url: CHAT_PATH })).statusCode, 401, 'no preflight');
});

test('serverless: no page may use it unless told so', async () => {
  for (const origin of [...LOCAL, ...FOREIGN]) {
    const reply = await preflight({ profile: serverless, origin, options: DEPLOYED });
    assert.is(reply.statusCode, 401);
    assert.is(reply.headers['access-control-allow-origin'], undefined);
  }
});

test('serverless: an origin that is allowed gets its preflight without a key, and nothing else', async () => {
  const options = { ...DEPLOYED, corsOrigins: ['https://chat.example'] };
  const allowed = await preflight({ profile: serverless, origin: 'https://chat.example', options });
  assert.equal([allowed.statusCode, allowed.headers['access-control-allow-origin']], [200, 'https://chat.example']);
  const other = await preflight({ profile: serverless, origin: 'https://chat.example:444', options });
  assert.is(other.statusCode, 401);
  const { post } = testApp({}, options, serverless);
  const reply = await post('{}', { origin: 'https://chat.example' });
  assert.equal([reply.statusCode, reply.headers['access-control-allow-origin']], [401, 'https://chat.example']);
});

test('origins can be set: none, any, some', async () => {
  const origin = 'http://localhost:3000';
  const allowed = async (corsOrigins: string[], from = origin) =>
    (await preflight({ profile: runtime, origin: from, options: { corsOrigins } })).headers[
      'access-control-allow-origin'
    ];
  assert.is(await allowed([]), undefined);
  assert.is(await allowed(['*'], 'https://any.example'), 'https://any.example');
  assert.is(await allowed(['*'], 'null'), 'null');
  assert.is(await allowed(['https://a.example']), undefined);
  assert.is(await allowed(['https://a.example', 'local']), origin);
  assert.is(await allowed(['localhost']), origin);
  assert.is(await allowed(['localhost'], 'https://localhost.evil.example'), undefined);
});

test('a public page may reach a private address if its origin is allowed', async () => {
  const { app } = testApp({}, { corsOrigins: ['https://chat.example'] });
  const asked = async (origin: string, name: string) => {
    const headers = { origin, 'access-control-request-method': 'POST', [name]: 'true' };
    const reply = await app.inject({ method: 'OPTIONS', url: CHAT_PATH, headers });
    return reply.headers['access-control-allow-private-network'];
  };
  const header = 'access-control-request-private-network';
  assert.is(await asked('https://chat.example', header), 'true');
  assert.is(await asked('https://evil.example', header), undefined);
  assert.is(await asked('https://chat.example', 'x-other'), undefined);
});

test('an OPTIONS of a page that may use the server is answered, even if it is no preflight', async () => {
  const { app } = testApp();
  const reply = await app.inject({ method: 'OPTIONS', url: CHAT_PATH, headers: { origin: 'http://localhost' } });
  assert.equal([reply.statusCode, reply.body], [200, '']);
});

test('an OPTIONS from no page is a wrong method, and at no path an unknown one', async () => {
  const { app } = testApp();
  expectError(await app.inject({ method: 'OPTIONS', url: CHAT_PATH }), { status: 405, code: 'method_not_allowed' });
  expectError(await app.inject({ method: 'OPTIONS', url: '/nowhere' }), {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_url',
  });
});

test.run();
