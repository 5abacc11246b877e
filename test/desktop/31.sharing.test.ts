// The server in the local network: what other devices get with the key, without it, and with what they may know or forge.
import http from 'node:http';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cookieFor, pageKeyFor } from '../../ts/desktop/guard.js';
import { PAGE_KEY_HEADER } from '../../ts/desktop/page-key.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const sharing = suite('the server in the local network');
const MODEL = 'chasqui-demo';
/** The shown address, added by `local-network.mjs`, and the loopback address behind it. */
const [SHOWN, OUTSIDE] = ['192.168.77.2', '127.0.0.2'];
const preload = fileURLToPath(new URL('../support/local-network.mjs', import.meta.url));
const variables = { NODE_OPTIONS: [process.env.NODE_OPTIONS, `--import=${preload}`].filter(Boolean).join(' ') };
let app: RunningDesktop;
let port: number;
let key: string;

sharing.before(async () => {
  app = await startDesktop([], { variables });
  ({ port } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 }));
});

sharing.after(async () => {
  await app.stop();
  removeFolder(app.folder);
});

interface Asked {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  host?: string;
  body?: object;
  at?: number;
}

interface Got {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** Asks from outside, unless `host` says otherwise. */
function ask({
  path = '/v1/models',
  method = 'GET',
  headers = {},
  host = OUTSIDE,
  body,
  at = port,
}: Asked): Promise<Got> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const json =
      text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sent = http.request({ host, port: at, path, method, headers: { ...json, ...headers }, agent: false });
    sent.once('error', reject).once('response', async (reply) => {
      let received = '';
      for await (const piece of reply) received += piece;
      resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text: received });
    });
    sent.end(text);
  });
}

const bearer = (given = key) => ({ authorization: `Bearer ${given}` });
const chat = { model: 'any', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3 };
const refused = (host: string, at: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port: at });
    socket
      .once('connect', () => resolve('connected'))
      .once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''));
    socket.once('close', () => socket.destroy()).once('connect', () => socket.destroy());
  });

sharing('it is off by default: no address outside is open', async () => {
  assert.equal(await app.done('GET', '/api/v1/sharing'), { on: false, keyId: null, addresses: [], error: null });
  assert.is(await refused(OUTSIDE, port), 'ECONNREFUSED');
});

sharing('the first switch creates a key and shows it once; the file of settings does not contain it', async () => {
  const reply = await app.done('PUT', '/api/v1/sharing', { on: true });
  key = reply.key;
  assert.match(key, new RegExp(`^${reply.keyId}:[\\w-]{43}$`));
  assert.equal(reply.addresses, [`http://${SHOWN}:${port}`]);
  const later = await app.done('GET', '/api/v1/sharing');
  const again = await app.done('PUT', '/api/v1/sharing', { on: true });
  const state = await app.done('GET', '/api/v1/state');
  assert.is(again.key, null);
  for (const shown of [later, again, state]) assert.not.ok(JSON.stringify(shown).includes(key.split(':')[1] as string));
});

sharing('with the key, another device lists models and chats', async () => {
  assert.is((await ask({ headers: bearer() })).status, 200);
  assert.is((await ask({ headers: { 'x-api-key': key } })).status, 200);
  const reply = await ask({ path: '/v1/chat/completions', method: 'POST', headers: bearer(), body: chat });
  assert.is(reply.status, 200);
  assert.is(JSON.parse(reply.text).model, MODEL);
});

sharing('without the key nothing is served: no endpoint, no probe, no preflight, no page', async () => {
  const paths = [
    '/',
    '/v1/models',
    '/health',
    '/health/live',
    '/health/ready',
    '/metrics',
    '/openapi.json',
    '/missing',
  ];
  for (const path of [...paths, '/api/tags', '/props', '/api/v1/state', '/app/v1/models', '/web-page.html']) {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      const { status, text } = await ask({ path, method });
      assert.is(status, 401, `${method} ${path}`);
      if (method !== 'HEAD')
        assert.is(
          JSON.parse(text).error.code ?? 'ollama',
          path === '/api/tags' ? 'ollama' : 'invalid_api_key',
          `${method} ${path}`,
        );
    }
  }
  const origins = { origin: 'http://localhost:3000', 'access-control-request-method': 'POST' };
  const preflight = await ask({ path: '/v1/chat/completions', method: 'OPTIONS', headers: origins });
  assert.ok(preflight.status >= 400);
  assert.is(preflight.headers['access-control-allow-origin'], undefined);
});

sharing('browsers get the chat page without the key, and nothing else', async () => {
  const accept = 'text/html,application/xhtml+xml';
  const page = await ask({ path: '/', headers: { accept } });
  assert.is(page.status, 200);
  assert.match(String(page.headers['content-security-policy']), /default-src 'self'/);
  const files = [...page.text.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, file]) => file as string);
  assert.ok(files.length >= 4, page.text);
  for (const file of files) {
    assert.is((await ask({ path: file })).status, 200, file);
    assert.is((await ask({ path: file, method: 'POST' })).status, 401, file);
  }
  const others = [
    '/index.html',
    '/web-page.html',
    '/assets/',
    '/assets/../index.html',
    '/assets/none.js',
    '/docs',
    '/v1/models',
  ];
  for (const path of others) assert.is((await ask({ path, headers: { accept } })).status, 401, path);
  assert.is((await ask({ path: '/', method: 'POST', headers: { accept } })).status, 401);
});

sharing('nothing that a device may forge replaces the key', async () => {
  const at = Number(new URL(app.url).port);
  const forged: Record<string, string>[] = [
    ...['127.0.0.1', '::1', '::ffff:127.0.0.1', 'localhost'].flatMap((address) => [
      { 'x-forwarded-for': address },
      { 'x-real-ip': address },
      { forwarded: `for="${address}"` },
    ]),
    { host: `localhost:${port}` },
    { host: `127.0.0.1:${port}` },
    { host: '' },
    { origin: `http://localhost:${port}`, 'sec-fetch-site': 'same-origin' },
    // The credentials of the app.
    bearer(app.token),
    { 'x-api-key': app.token },
    { cookie: cookieFor(app.token, at).split(';')[0] as string, [PAGE_KEY_HEADER]: pageKeyFor(app.token, at) },
    { cookie: cookieFor(app.token, port).split(';')[0] as string, [PAGE_KEY_HEADER]: pageKeyFor(app.token, port) },
    // Parts of the key.
    bearer(key.split(':')[0] as string),
    bearer(`${key.split(':')[0]}:${'A'.repeat(43)}`),
    bearer(key.slice(0, -1)),
    bearer(`${key}x`),
    { authorization: `Key ${key}` },
  ];
  for (const headers of forged) assert.is((await ask({ headers })).status, 401, JSON.stringify(headers));
  assert.is((await ask({ path: `/v1/models?key=${key}` })).status, 401);
  // An IPv6 socket that reaches the IPv4 address.
  assert.is((await ask({ host: `::ffff:${OUTSIDE}` })).status, 401);
});

sharing('the key does not open the app, nor names that a foreign page could have', async () => {
  const appPort = Number(new URL(app.url).port);
  assert.is(await refused(OUTSIDE, appPort), 'ECONNREFUSED');
  assert.is((await ask({ host: '127.0.0.1', at: appPort, path: '/api/v1/chats', headers: bearer() })).status, 401);
  for (const path of ['/api/v1/chats', '/api/v1/state', '/api/v1/settings', '/app/v1/models', '/api/v1/sharing']) {
    const { status, text } = await ask({ path, headers: bearer() });
    assert.is(status, 404, path);
    assert.is(JSON.parse(text).error.code, 'unknown_url', path);
  }
  const rebound = await ask({ headers: { ...bearer(), host: `attacker.example:${port}` } });
  assert.equal([rebound.status, JSON.parse(rebound.text).error.code], [403, 'host_not_allowed']);
  assert.is((await ask({ headers: { ...bearer(), host: `${SHOWN}:${port}` } })).status, 200);
});

sharing('with the key, a device can neither delete models nor fetch from this computer', async () => {
  const removal = { path: '/api/delete', method: 'DELETE', headers: bearer(), body: { model: MODEL } };
  const removed = await ask(removal);
  assert.is(removed.status, 404, removed.text);
  const image = { type: 'image_url', image_url: { url: `http://127.0.0.1:${port}/health` } };
  const body = { ...chat, messages: [{ role: 'user', content: [image] }] };
  const reply = await ask({ path: '/v1/chat/completions', method: 'POST', headers: bearer(), body });
  assert.is(reply.status, 400, reply.text);
});

sharing('programs of this computer need no key at localhost, as before', async () => {
  for (const host of ['127.0.0.1', '::1']) assert.is((await ask({ host })).status, 200, host);
});

sharing('a renewed key is valid at once, and the old one no longer', async () => {
  const old = key;
  const reply = await app.done('POST', '/api/v1/sharing/key');
  key = reply.key;
  assert.is.not(key, old);
  assert.equal([(await ask({ headers: bearer(old) })).status, (await ask({ headers: bearer() })).status], [401, 200]);
});

sharing('it follows the server, and is told to pages', async () => {
  const events = await app.watch();
  const stopped = await app.done('POST', '/api/v1/server/stop');
  assert.is(stopped.state, 'stopped');
  const last = () => events.seen.filter(({ name }) => name === 'sharing').at(-1)?.data;
  await until(() => last()?.addresses.length === 0, 'the addresses are closed');
  assert.is(await refused(OUTSIDE, port), 'ECONNREFUSED');
  ({ port } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 }));
  await until(() => last()?.addresses[0] === `http://${SHOWN}:${port}`, 'the new address is open');
  assert.is((await ask({ headers: bearer() })).status, 200);
  events.close();
});

sharing('a port that another program has there is an error of the sharing only', async () => {
  await app.done('POST', '/api/v1/server/stop');
  const events = await app.watch();
  const other = net.createServer().listen({ host: OUTSIDE, port });
  await new Promise((resolve) => other.once('listening', resolve));
  const started = await app.done('POST', '/api/v1/server/start', { model: MODEL, port });
  assert.is(started.state, 'running');
  const last = () => events.seen.filter(({ name }) => name === 'sharing').at(-1)?.data;
  await until(() => last()?.error !== null && last() !== undefined, 'the error is told');
  assert.match(last().error, /EADDRINUSE/);
  assert.equal(last().addresses, []);
  await new Promise((resolve) => other.close(resolve));
  assert.equal((await app.done('PUT', '/api/v1/sharing', { on: true })).addresses, [`http://${SHOWN}:${port}`]);
  events.close();
});

sharing('switched off, it serves no one from the reply on, and the key is kept', async () => {
  const off = await app.done('PUT', '/api/v1/sharing', { on: false });
  assert.equal([off.on, off.addresses, off.key], [false, [], null]);
  const late = await ask({ headers: bearer() }).then(
    ({ status }) => status,
    (error: NodeJS.ErrnoException) => error.code,
  );
  assert.ok([401, 503, 'ECONNREFUSED', 'ECONNRESET'].includes(late as never), String(late));
  const on = await app.done('PUT', '/api/v1/sharing', { on: true });
  assert.equal([on.key, on.keyId], [null, key.split(':')[0]]);
  assert.is((await ask({ headers: bearer() })).status, 200);
});

sharing('it is shared again after a restart, with the same key', async () => {
  await app.stop();
  const { folder } = app;
  app = await startDesktop([], { folder, variables });
  assert.ok((await app.done('GET', '/api/v1/sharing')).on);
  ({ port } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 }));
  await until(async () => (await app.done('GET', '/api/v1/sharing')).addresses.length === 1, 'the address is open');
  assert.is((await ask({ headers: bearer() })).status, 200);
});

sharing.run();
