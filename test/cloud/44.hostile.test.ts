// Clients that mean harm, at the level of the socket: each gets an error in the usual envelope or its connection closed,
// and the runner sees nothing of what it should not.
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BYTES_FOR_TEXTS, FREE_BYTES, MAX_BYTES_HELD } from '../../ts/http/body/limits.js';
import {
  CHAT,
  closeGateways,
  KEY,
  postChat,
  startGateway,
  startRawRunner,
  startRunner,
  TestDeployment,
} from '../support/gateway.js';
import { parseReply } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('cloud: hostile clients');

test.after.each(closeGateways);

const AUTH = `Authorization: Key ${KEY}`;
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Sends bytes, and reads until the gateway closes the connection or `enough` of it has come. */
function send(port: number, bytes: string | readonly string[], enough = (_read: string) => false): Promise<string> {
  return new Promise((resolve) => {
    let read = '';
    const socket = net.connect(port, '127.0.0.1', () => {
      for (const part of [bytes].flat()) socket.write(part as string, 'latin1');
    });
    socket.on('data', (data) => {
      read += data.toString('latin1');
      if (enough(read)) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(read));
  });
}

function request(target: string, headers: readonly string[] = [], body = '', method = 'POST'): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close', AUTH, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

async function rawGateway(reply = OK) {
  const runner = await startRawRunner((socket) => socket.end(reply));
  const app = new TestDeployment('acme', 'chat').run(runner.socketPath);
  return { runner, app, gateway: await startGateway([app]) };
}

function assertError(read: string, status: number, code: string): void {
  const reply = parseReply(read);
  assert.is(reply.statusCode, status, read.slice(0, 300));
  assert.is(JSON.parse(reply.body).error.code, code);
  assert.match(
    Object.entries(reply.headers).find(([name]) => name.toLowerCase() === 'x-request-id')?.[1] ?? '',
    /^req_/,
  );
}

for (const [name, headers, body] of [
  ['two lengths', ['Content-Length: 5', 'Content-Length: 6'], 'hello!'],
  ['two equal lengths', ['Content-Length: 5', 'Content-Length: 5'], 'hello'],
  ['a list of lengths', ['Content-Length: 5, 5'], 'hello'],
  ['chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'],
  ['a length and chunks', ['Content-Length: 4', 'Transfer-Encoding: chunked'], '0\r\n\r\nGET /x HTTP/1.1\r\n\r\n'],
  ['two encodings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], '0\r\n\r\n'],
  ['an encoding that is not chunked', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
  ['a hidden encoding', ['Transfer-Encoding : chunked'], '0\r\n\r\n'],
  ['an encoding behind a tab', ['Transfer-Encoding:\x0bchunked'], '0\r\n\r\n'],
  ['a negative length', ['Content-Length: -1'], ''],
  ['a length with a sign', ['Content-Length: +5'], 'hello'],
  ['a length in hexadecimal', ['Content-Length: 0x5'], 'hello'],
  ['a folded header', ['X: a', ' Transfer-Encoding: chunked'], ''],
  ['a header without a name', [': x'], ''],
  ['a length behind chunks', ['Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n'],
  ['a null character in a header', ['X: a\0b'], ''],
  ['a lone carriage return in a header', ['X: a\rTransfer-Encoding: chunked'], ''],
] as const) {
  test(`${name}: refused, and no runner has seen it`, async () => {
    const { gateway, runner } = await rawGateway();
    assertError(await send(gateway.port, request(`${CHAT}`, headers, body)), 400, 'bad_request');
    assert.equal(runner.requests, []);
  });
}

for (const body of ['5\r\nhello\r\n0\r\n\r\n', '5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n']) {
  test('a chunked body reaches the runner as one of a known length, without its trailers', async () => {
    const { gateway, runner } = await rawGateway();
    const read = await send(gateway.port, request(CHAT, ['Transfer-Encoding: chunked'], body));
    assert.is(parseReply(read).statusCode, 200);
    const [head = '', sent] = (runner.requests[0] ?? '').split('\r\n\r\n');
    assert.is(sent, 'hello');
    assert.equal(head.match(/^(content-length|transfer-encoding|trailer).*$/gim), ['content-length: 5']);
  });
}

for (const [target, status, code] of [
  ['/acme/chat//v1/models', 400, 'bad_request'],
  ['//acme/chat/v1/models', 400, 'bad_request'],
  ['/acme/chat/../chat/v1/models', 400, 'bad_request'],
  ['/acme/chat/v1/../metrics', 400, 'bad_request'],
  ['/acme/chat/v1/%2e%2e/metrics', 400, 'bad_request'],
  ['/acme/chat/v1/.%2E/metrics', 400, 'bad_request'],
  ['/acme/chat/v1/..%2fmetrics', 400, 'bad_request'],
  ['/acme/chat/v1/./models', 400, 'bad_request'],
  ['/acme/chat/v1%2fmodels', 400, 'bad_request'],
  ['/acme%2fchat/v1/models', 400, 'bad_request'],
  ['/acme/chat/v1/a%5cb', 400, 'bad_request'],
  ['/acme/chat/v1/a\\b', 400, 'bad_request'],
  ['/acme/chat/v1/%', 400, 'bad_request'],
  ['/acme/chat/v1/%zz', 400, 'bad_request'],
  ['/acme/chat/v1/%00', 400, 'bad_request'],
  ['/acme/chat/v1/%0d%0aX:%20y', 400, 'bad_request'],
  ['/acme/%63hat/v1/models', 404, 'unknown_url'],
  ['/%61cme/chat/v1/models', 404, 'unknown_url'],
  ['/.acme/chat/v1/models', 404, 'unknown_url'],
  [`/acme/${'c'.repeat(101)}/v1/models`, 404, 'unknown_url'],
  ['/acme', 404, 'unknown_url'],
  ['/acme/', 404, 'unknown_url'],
  ['/acme/chat/metrics', 404, 'unknown_url'],
  ['/acme/chat/%6detrics', 404, 'unknown_url'],
  ['*', 400, 'bad_request'],
] as const) {
  test(`the path ${target.slice(0, 40)}: ${status}`, async () => {
    const { gateway, runner } = await rawGateway();
    assertError(await send(gateway.port, request(target, [], '', 'GET')), status, code);
    assert.equal(runner.requests, []);
  });
}

test('a whole URL as target names the app by its path, and its host says nothing', async () => {
  const { gateway, runner } = await rawGateway();
  const read = await send(gateway.port, request('http://elsewhere:99/acme/chat/v1/models?a=b', [], '', 'GET'));
  assert.is(parseReply(read).statusCode, 200);
  assert.match(runner.requests[0] ?? '', /^GET \/v1\/models\?a=b HTTP\/1\.1\r\nhost: localhost\r\n/);
});

test('headers and query of a client cannot inject headers for the runner', async () => {
  const { gateway, runner } = await rawGateway();
  const headers = [
    'X-Request-Id: req_mine',
    'X-Chasqui-Report: no',
    'User-Agent: \xe9\xff',
    'Connection: close, host',
    'TE: trailers',
  ];
  await send(gateway.port, request('/acme/chat/v1/models?x=%0d%0aEvil:%20y', headers, '', 'GET'));
  const sent = runner.requests[0] ?? '';
  assert.match(sent, /^GET \/v1\/models\?x=%0d%0aEvil:%20y HTTP\/1\.1\r\n/);
  assert.not.match(sent, /^(evil|te):|req_mine/im);
  assert.is(sent.match(/^host:/gim)?.length, 1);
  assert.match(sent, /^x-chasqui-report: usage\r$/m);
});

test('no HTTP, other methods, too many headers, no host or two', async () => {
  const { gateway, runner } = await rawGateway();
  assertError(await send(gateway.port, 'hello\r\n\r\n'), 400, 'bad_request');
  assertError(await send(gateway.port, `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`), 400, 'bad_request');
  assertError(await send(gateway.port, request(CHAT, [], '', 'TRACE')), 405, 'method_not_allowed');
  assertError(await send(gateway.port, request(CHAT, [], '', 'PROPFIND')), 405, 'method_not_allowed');
  assertError(await send(gateway.port, request(CHAT, [`X: ${'y'.repeat(20_000)}`])), 431, 'headers_too_large');
  const many = Array.from({ length: 3000 }, (_, at) => `X${at}: y`);
  assertError(await send(gateway.port, request(CHAT, many)), 431, 'headers_too_large');
  assertError(await send(gateway.port, `GET ${CHAT} HTTP/1.1\r\nConnection: close\r\n\r\n`), 400, 'bad_request');
  for (const second of ['Host: x', 'hOST: evil.example', 'Host:']) {
    assertError(await send(gateway.port, request(CHAT, [second])), 400, 'bad_request');
  }
  assertError(await send(gateway.port, request(`/acme/chat/v1/${'x'.repeat(20_000)}`)), 431, 'headers_too_large');
  assert.equal(runner.requests, []);
});

test('a body that is packed is refused, and no runner hears of it', async () => {
  const { gateway, runner } = await rawGateway();
  const packed = request(CHAT, ['Content-Encoding: gzip', 'Content-Length: 100'], 'x'.repeat(100));
  assertError(await send(gateway.port, packed), 415, 'unsupported_media_type');
  assert.equal(runner.requests, []);
});

test('a client without a key is refused before its body, and the connection closes', async () => {
  const { gateway } = await rawGateway();
  const head = `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n`;
  assertError(await send(gateway.port, [head, 'x'.repeat(100_000)]), 401, 'invalid_api_key');
});

test('a client that asks before it sends is told to go on only when it may', async () => {
  const { gateway } = await rawGateway();
  const ask = (auth: string) =>
    `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n${auth}Content-Length: 5\r\n\r\n`;
  assertError(await send(gateway.port, ask('')), 401, 'invalid_api_key');
  const socket = net.connect(gateway.port, '127.0.0.1', () => socket.write(ask(`${AUTH}\r\n`)));
  let read = '';
  socket.on('data', (data) => {
    if (read === '') socket.write('hello');
    read += data;
  });
  await new Promise((resolve) => socket.on('close', resolve));
  assert.match(read, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
});

test('a body that stops coming ends with a 408, and holds no place', async () => {
  const { app, runner } = await rawGateway();
  const gateway = await startGateway([app], { bodySilenceMs: 100 });
  assertError(await send(gateway.port, request(CHAT, ['Content-Length: 100'], 'half')), 408, 'request_timeout');
  assert.equal(runner.requests, []);
  assert.equal(app.demands, []);
});

test('a body in many tiny pieces is refused', async () => {
  const { gateway } = await rawGateway();
  const pieces = `1\r\nx\r\n`.repeat(11_000);
  assertError(await send(gateway.port, request(CHAT, ['Transfer-Encoding: chunked'], pieces)), 400, 'bad_request');
});

test('bodies of all requests together are bounded', async () => {
  const { app } = await rawGateway();
  // A request that waits for longer would be refused, and its body freed, before the others have arrived.
  app.limits.startMs = 600_000;
  const gateway = await startGateway([app]);
  app.run();
  const bodyBytes = 60 * 2 ** 20;
  const sockets: net.Socket[] = [];
  const begin = (bytes: number): net.Socket => {
    const socket = net.connect(gateway.port, '127.0.0.1').on('error', () => undefined);
    socket.write(request(CHAT, [`Content-Length: ${bodyBytes}`]));
    socket.write(Buffer.alloc(bytes, 'x'));
    sockets.push(socket);
    return socket;
  };
  for (const waiting of [1, 2, 3]) {
    begin(bodyBytes);
    await until(() => app.demand.queued === waiting, `${waiting} wait`);
  }
  // One byte too many. Nothing is sent after it, because a client that still writes may lose the reply.
  const left = MAX_BYTES_HELD - BYTES_FOR_TEXTS - 3 * (bodyBytes - FREE_BYTES) + FREE_BYTES;
  let refused = '';
  for await (const data of begin(left + 1)) refused += data;
  assertError(refused, 503, 'server_busy');
  assert.is(app.demand.queued, 3);
  for (const socket of sockets) socket.destroy();
  await until(() => app.demand.queued === 0, 'all have left');
});

// A runner replies before it has read such a body, and closes: what is written then breaks the connection, and the reply is lost.
test('the body of a GET stays at the gateway', async () => {
  const { gateway, runner } = await rawGateway();
  const read = await send(gateway.port, request('/acme/chat/v1/models', ['Content-Length: 2'], '{}', 'GET'));
  assert.is(parseReply(read).statusCode, 200);
  assert.match(runner.requests[0] ?? '', /^GET \/v1\/models HTTP[^{}]*\r\n\r\n$/);
  assert.not.match(runner.requests[0] ?? '', /^content-length/im);
});

test('pipelined requests are served one after another, in order', async () => {
  const { socketPath, engine } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  const get = (path: string) => `GET /acme/chat/v1/${path} HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n`;
  const read = await send(gateway.port, get('models') + get('absent') + request('/acme/chat/v1/models', [], '', 'GET'));
  assert.equal(read.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
  assert.ok(app.demands.every(({ running }) => running <= 1));
  assert.is(engine.jobs.length, 0);
});

test('a flood of pipelined requests costs its own connection only', async () => {
  const { gateway, app } = await rawGateway();
  app.run();
  const one = `GET /acme/chat/v1/models HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n`;
  assert.is(await send(gateway.port, one.repeat(500)), '');
  await until(() => app.demand.queued === 0, 'none of them waits any more');
});

test('a client that has sent its request and closes its half counts as gone', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const body = JSON.stringify({ model: 'fake', stream: true, messages: [{ role: 'user', content: 'x' }] });
  const socket = net.connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(request(CHAT, [`Content-Length: ${body.length}`, 'Content-Type: application/json'], body));
  await until(() => engine.running.size === 1, 'the runner has it');
  socket.end();
  await until(() => engine.cancelled === 1, 'the runner computes it no more');
  socket.destroy();
});

test('a client that never reads is cut off, and others go on meanwhile', async () => {
  const big = 'data: '.concat('x'.repeat(60_000), '\n\n');
  let written = 0;
  const runner = await startRawRunner((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
    const more = (): void => {
      while (!socket.destroyed && written < 50_000_000) {
        written += big.length;
        if (!socket.write(`${big.length.toString(16)}\r\n${big}\r\n`)) {
          socket.once('drain', more);
          return;
        }
      }
    };
    more();
  });
  const good = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(runner.socketPath);
  const other = new TestDeployment('acme', 'other').run(good.socketPath);
  const gateway = await startGateway([app, other], { stallMs: 500 });
  const socket = net.connect(gateway.port, '127.0.0.1', () => socket.write(request(CHAT, ['Content-Length: 2'], '{}')));
  socket.on('error', () => undefined);
  socket.pause();
  await until(() => written > 0, 'the stream has begun');
  assert.is((await postChat(gateway, {}, { path: '/acme/other/v1/chat/completions' })).status, 200);
  await until(() => runner.sockets.size === 0, 'the runner is freed');
  assert.ok(written < 50_000_000, 'the runner was held back by its reader');
  socket.destroy();
});

test('a client of HTTP/1.0 gets no chunks: its stream ends with the connection', async () => {
  const { socketPath } = await startRunner();
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const body = JSON.stringify({ model: 'fake', stream: true, messages: [{ role: 'user', content: 'x' }] });
  const head = `POST ${CHAT} HTTP/1.0\r\n${AUTH}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const read = await send(gateway.port, head + body);
  assert.match(read, /^HTTP\/1\.1 200 /);
  assert.not.match(read, /transfer-encoding/i);
  assert.match(read, /\r\n\r\ndata: {[\s\S]*data: \[DONE\]\n\n$/);
});

test('200 clients on 8 apps, some of which leave: everybody gets their own completion, and nothing is left', async () => {
  const apps: TestDeployment[] = [];
  for (let number = 0; number < 8; number++) {
    const { socketPath } = await startRunner({
      batches: () => Array.from({ length: 40 }, (_, at) => [{ text: `${number}:${at} ` }]),
    });
    const app = new TestDeployment('acme', `app-${number}`).run(socketPath);
    app.limits.requests = 200;
    apps.push(app);
  }
  const gateway = await startGateway(apps);
  const one = async (number: number): Promise<void> => {
    const path = `/acme/app-${number % 8}/v1/chat/completions`;
    const leaving = new AbortController();
    if (number % 5 === 0) setTimeout(() => leaving.abort(), number);
    try {
      const reply = await postChat(gateway, { stream: true }, { path, signal: leaving.signal });
      const text = await reply.text();
      const tokens = [...text.matchAll(/"content":"(\d+):(\d+) "/g)].map(([, app, at]) => `${app}:${at}`);
      assert.equal(
        tokens,
        Array.from({ length: 40 }, (_, at) => `${number % 8}:${at}`),
      );
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, number) => one(number)));
  await until(() => apps.every(({ demand }) => demand.running === 0 && demand.queued === 0), 'nothing is left');
  assert.equal(gateway.errors, []);
  assert.ok(gateway.usage.filter(({ status }) => status === 200).length >= 160);
});

test.run();
