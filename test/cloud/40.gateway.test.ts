// Requests, replies and streams through the gateway, and their usage counts.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OWNER_HEADER, ownerOfKey } from '../../ts/http/owner-header.js';
import {
  CHAT,
  closeGateways,
  codeOf,
  postChat,
  startGateway,
  startRawRunner,
  startRunner,
  TestDeployment,
  WITH_KEY,
} from '../support/gateway.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('cloud: the gateway');

test.after.each(closeGateways);

const LINES = [[{ text: 'Hel' }], [{ text: 'lo' }, { text: ' Wörld 漢字 😀' }]];
const script = { batches: () => LINES };
const TEXT = 'Hello Wörld 漢字 😀';

test('a whole reply comes through as the runner gave it, and says which runner that was', async () => {
  const { socketPath } = await startRunner(script);
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  const reply = await postChat(gateway, { temprature: 1 });
  assert.is(reply.status, 200);
  const body = (await reply.json()) as { choices: { message: { content: string } }[] };
  assert.is(body.choices[0]?.message.content, TEXT);
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
  assert.is(reply.headers.get('x-chasqui-runner'), 'r1');
  assert.is(reply.headers.get('x-chasqui-queue-ms'), '0');
  assert.is(reply.headers.get('x-chasqui-cold-start-ms'), null);
  assert.is(reply.headers.get('x-chasqui-ignored'), 'temprature;did-you-mean=temperature');
  assert.is(reply.headers.get('x-chasqui-usage'), null);
  await until(() => gateway.usage.length === 1, 'the use is counted');
  const { ms, at, waitedMs, firstByteMs, ...use } = gateway.usage[0] as (typeof gateway.usage)[number];
  assert.equal(use, {
    keyId: 'k1',
    org: 'acme',
    app: 'chat',
    promptTokens: 8,
    completionTokens: 3,
    cachedTokens: 0,
    status: 200,
  });
  assert.ok(ms >= 0 && Math.abs(Date.now() - at) < 60_000);
  assert.is(waitedMs, 0);
  assert.ok(firstByteMs !== null && firstByteMs > 0);
  assert.equal(app.demand, { running: 0, queued: 0 });
});

test('a stream comes through, its usage is counted, and the client gets no chunk that it did not ask for', async () => {
  const { socketPath } = await startRunner(script);
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const plain = readSse(await (await postChat(gateway, { stream: true })).text());
  assert.is(plain.events.map(({ choices }) => choices[0].delta.content ?? '').join(''), TEXT);
  assert.ok(plain.done);
  assert.ok(plain.events.every((event) => !('usage' in event)));
  const asked = await postChat(gateway, { stream: true, stream_options: { include_usage: true } });
  const { events } = readSse(await asked.text());
  assert.is(events.at(-1)?.usage?.completion_tokens, 3);
  await until(() => gateway.usage.length === 2, 'both are counted');
  assert.equal(
    gateway.usage.map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]),
    [
      [8, 3],
      [8, 3],
    ],
  );
});

test('no token is held back: each one arrives while the next is not computed yet', async () => {
  const { socketPath, engine } = await startRunner({
    manual: true,
    batches: () => 'abcdef'.split('').map((text) => [{ text }]),
  });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const replying = postChat(gateway, { stream: true });
  await until(() => engine.running.size === 1, 'the runner has it');
  engine.step();
  const reader = ((await replying).body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  for (const letter of 'abcdef') {
    while (!read.includes(`"content":"${letter}"`)) read += (await reader.read()).value ?? '';
    engine.step();
  }
  while (!read.includes('[DONE]')) read += (await reader.read()).value ?? '';
});

test('a client that leaves a stream ends it on the runner', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  const leaving = new AbortController();
  const replying = postChat(gateway, { stream: true }, { signal: leaving.signal });
  await until(() => engine.running.size === 1, 'the runner has it');
  engine.step();
  await replying;
  leaving.abort();
  await until(() => engine.cancelled === 1, 'the completion is cancelled');
  await until(() => gateway.usage[0]?.status === 499, 'it is counted as left');
  assert.ok((gateway.usage[0]?.completionTokens ?? 0) > 0, 'what was sent is counted');
  await until(() => app.demand.running === 0, 'its place is free');
});

test('all events of an aborted stream are counted', async () => {
  const count = 500;
  const events = Array.from({ length: count }, (_, index) => `data: {"choices":[{"index":${index}}]}\n\n`);
  const chunks = events.map((event) => `${event.length.toString(16)}\r\n${event}\r\n`).join('');
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  const { socketPath } = await startRawRunner((socket) => socket.write(head + chunks));
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const leaving = new AbortController();
  const reply = await postChat(gateway, { stream: true }, { signal: leaving.signal });
  const reader = (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  for (let read = ''; !read.includes(`"index":${count - 1}`); ) read += (await reader.read()).value ?? '';
  leaving.abort();
  await until(() => gateway.usage[0]?.status === 499, 'it is counted as left');
  assert.is(gateway.usage[0]?.completionTokens, count);
  const bytes = Buffer.byteLength(
    JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hi' }], stream: true }),
  );
  assert.is(gateway.usage[0]?.promptTokens, Math.ceil(bytes / 4), 'the prompt counts as what its bytes are about');
});

test('the prompt of a request aborted before its reply is counted', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  const leaving = new AbortController();
  const replying = postChat(gateway, { stream: true }, { signal: leaving.signal }).catch(() => null);
  await until(() => engine.running.size === 1, 'the runner has it');
  leaving.abort();
  await replying;
  await until(() => gateway.usage[0]?.status === 499, 'it is counted as left');
  const bytes = JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hi' }], stream: true }).length;
  assert.equal([gateway.usage[0]?.promptTokens, gateway.usage[0]?.completionTokens], [Math.ceil(bytes / 4), 0]);
});

for (const stream of [true, false]) {
  test(`a client that leaves before the runner's headers ends the request on it, stream ${stream}`, async () => {
    const { socketPath, engine } = await startRunner({ manual: true });
    const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
    const leaving = new AbortController();
    const replying = postChat(gateway, { stream }, { signal: leaving.signal }).catch(() => null);
    await until(() => engine.running.size === 1, 'the runner has it');
    leaving.abort();
    await until(() => engine.cancelled === 1, 'the completion is cancelled');
    await replying;
  });
}

test('errors of a runner come through, and so does what it does not know', async () => {
  const { socketPath } = await startRunner();
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const invalid = await postChat(gateway, { temperature: 'hot' });
  assert.is(invalid.status, 400);
  assert.is(await codeOf(invalid), 'invalid_type');
  const unknown = await fetch(`${gateway.url}/acme/chat/v1/nothing`, { headers: WITH_KEY });
  assert.is(unknown.status, 404);
  assert.is(await codeOf(unknown), 'unknown_url');
  const models = await fetch(`${gateway.url}/acme/chat/v1/models?x=1`, { headers: WITH_KEY });
  assert.is(((await models.json()) as { data: { id: string }[] }).data[0]?.id, 'fake');
  const head = await fetch(`${gateway.url}/acme/chat/v1/models`, { method: 'HEAD', headers: WITH_KEY });
  assert.is(head.status, 200);
  assert.is(await head.text(), '');
});

test('the runner gets the path, the query and what it reads of the headers, and no key', async () => {
  const runner = await startRawRunner((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  const reply = await fetch(`${gateway.url}/acme/chat/v1/x?a=b%2Fc`, {
    method: 'POST',
    headers: {
      ...WITH_KEY,
      cookie: 'session=1',
      'x-forwarded-for': '1.2.3.4',
      [OWNER_HEADER]: 'f'.repeat(64),
      traceparent: 'tp',
      'content-type': 'a/b',
    },
    body: 'hello',
  });
  assert.is(await reply.text(), 'ok');
  const [head = '', body] = (runner.requests[0] ?? '').split('\r\n\r\n');
  assert.is(body, 'hello');
  const [line, ...headers] = head.split('\r\n');
  assert.is(line, 'POST /v1/x?a=b%2Fc HTTP/1.1');
  assert.ok(headers.includes('traceparent: tp') && headers.includes('content-type: application/json'));
  assert.ok(headers.includes('content-length: 5'));
  assert.ok(headers.includes(`x-request-id: ${reply.headers.get('x-request-id')}`));
  assert.not.match(head, /authorization|secret|cookie|forwarded|ffff/i);
  assert.ok(headers.includes(`${OWNER_HEADER}: ${ownerOfKey('k1')}`), 'whose key it is, and no part of the key');
});

test('the runner gets no owner for requests without a key', async () => {
  const runner = await startRawRunner((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  const gateway = await startGateway([new TestDeployment('acme', 'open', 'public').run(runner.socketPath)]);
  const headers = { [OWNER_HEADER]: ownerOfKey('k1') };
  assert.is((await fetch(`${gateway.url}/acme/open/v1/x`, { headers })).status, 200);
  assert.not.match(runner.requests[0] ?? '', /x-chasqui-owner/i);
});

test('headers that are between runner and gateway stay there', async () => {
  const lines = [
    'HTTP/1.1 200 OK',
    'Connection: close, x-private',
    'Keep-Alive: timeout=5',
    'Transfer-Encoding: chunked',
    'Access-Control-Allow-Origin: http://elsewhere',
    'Set-Cookie: a=b',
    'Clear-Site-Data: "*"',
    'Service-Worker-Allowed: /',
    'Content-Security-Policy: script-src *',
    'X-Unknown: 1',
    'X-Chasqui-Ignored: one',
    'X-Chasqui-Ignored: two',
    'Retry-After: 7',
    'X-Request-Id: runner',
  ];
  const runner = await startRawRunner((socket) => socket.end(`${lines.join('\r\n')}\r\n\r\n2\r\nok\r\n0\r\n\r\n`));
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  const reply = await fetch(`${gateway.url}/acme/chat/v1/x`, { headers: WITH_KEY });
  assert.is(await reply.text(), 'ok');
  assert.is(reply.headers.get('x-chasqui-ignored'), 'one, two');
  assert.is(reply.headers.get('retry-after'), '7');
  for (const name of ['set-cookie', 'clear-site-data', 'service-worker-allowed', 'x-unknown']) {
    assert.is(reply.headers.get(name), null, name);
  }
  assert.is(reply.headers.get('access-control-allow-origin'), '*');
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_/);
});

test('no reply is a page of the origin that the dashboard has, whatever its runner says', async () => {
  const page =
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: script-src *\r\nContent-Length: 2\r\n\r\nok';
  const runner = await startRawRunner((socket) => socket.end(page));
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  for (const path of ['/acme/chat/v1/x', '/acme/chat/nothing', '/acme/chat/status', '/acme/absent/v1/x']) {
    const { headers } = await fetch(`${gateway.url}${path}`, { headers: WITH_KEY });
    assert.is(headers.get('content-security-policy'), "sandbox; default-src 'none'", path);
    assert.is(headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('a preflight needs no key and says that a key may be sent, whether the app exists or not', async () => {
  const gateway = await startGateway([new TestDeployment('acme', 'chat')]);
  const replies = await Promise.all(
    [CHAT, '/acme/absent/v1/models'].map(async (path) => {
      const reply = await fetch(`${gateway.url}${path}`, {
        method: 'OPTIONS',
        headers: {
          origin: 'http://page',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      });
      return [reply.status, ...['origin', 'headers'].map((name) => reply.headers.get(`access-control-allow-${name}`))];
    }),
  );
  assert.equal(replies, Array(2).fill([200, '*', 'authorization,content-type']));
});

test('paths of the cloud itself do not come to the gateway', async () => {
  const gateway = await startGateway([new TestDeployment('api', 'cloud', 'public')]);
  for (const path of ['/', '/api/cloud/v1/apps', '/dashboard', '/health', '/metrics?x']) {
    assert.is(await (await fetch(`${gateway.url}${path}`)).text(), 'the cloud itself');
  }
});

test("paths outside the app's endpoints do not reach the runner", async () => {
  const runner = await startRawRunner((socket) => socket.destroy());
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  for (const path of ['', '/', '/metrics', '/models/unload', '/health', '/v1x', '/V1/models', '/statuss']) {
    const reply = await fetch(`${gateway.url}/acme/chat${path}`, { method: 'POST', headers: WITH_KEY });
    assert.is(reply.status, 404, path);
    assert.is(await codeOf(reply), 'unknown_url');
  }
  assert.equal(runner.requests, []);
});

test('closing lets replies finish, refuses new requests, and ends with an error what takes too long', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const stream = postChat(gateway, { stream: true });
  await until(() => engine.running.size === 1, 'the runner has it');
  engine.step();
  const reply = await stream;
  const whole = postChat(gateway);
  await until(() => engine.running.size === 2, 'both are with the runner');
  const closed = gateway.gateway.close(50);
  const late = await postChat(gateway);
  assert.is(await codeOf(late), 'engine_closed');
  await closed;
  assert.match(await reply.text(), /"code":"engine_closed"[^\n]*\n\n$/);
  assert.is((await whole).status, 503);
  await until(() => engine.cancelled === 2, 'both are cancelled');
});

test.run();
