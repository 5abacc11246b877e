// Missing, crashing and misbehaving runners: the error for the client, and retries by another runner.
import type net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import {
  closeGateways,
  codeOf,
  postChat,
  socketPath,
  startGateway,
  startRawRunner,
  startRunner,
  TestDeployment,
  WITH_KEY,
} from '../support/gateway.js';
import { until } from '../support/until.js';

const test = suite('cloud: failing runners');

test.after.each(closeGateways);

const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

test('a runner whose socket nobody listens on is reported, and another one gets the request', async () => {
  const { socketPath: good } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(socketPath(), good);
  const gateway = await startGateway([app]);
  const reply = await postChat(gateway);
  assert.is(reply.status, 200);
  assert.is(reply.headers.get('x-chasqui-runner'), 'r2');
  assert.equal(app.failures, ['r1: ENOENT']);
});

test('an only runner that is gone: the request waits for the next one', async () => {
  const app = new TestDeployment('acme', 'chat').run(socketPath());
  const gateway = await startGateway([app]);
  const replying = postChat(gateway);
  await until(() => app.failures.length === 1 && app.demand.queued === 1, 'it waits');
  const { socketPath: good } = await startRunner();
  app.run({ id: 'r2', socketPath: good });
  assert.is((await replying).status, 200);
});

test("what the gateway itself refuses is told in the envelope of the path's protocol", async () => {
  const app = new TestDeployment('acme', 'chat').run(socketPath(), socketPath());
  const gateway = await startGateway([app]);
  for (const [headers, code, type, status] of [
    [{}, 'invalid_api_key', 'authentication_error', 401],
    [WITH_KEY, 'runner_failed', 'api_error', 503],
  ] as const) {
    for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions', '/v1/responses']) {
      const isAnthropics = path.startsWith('/v1/messages');
      const reply = await postChat(gateway, {}, { path: `/acme/chat${path}`, headers });
      assert.is(reply.status, status, path);
      const told = (await reply.json()) as { type?: string; error: { type: string; code: string } };
      assert.is(told.type, isAnthropics ? 'error' : undefined, path);
      assert.is(told.error.code, code, path);
      if (isAnthropics) assert.is(told.error.type, type, path);
      assert.is(reply.headers.get('request-id'), isAnthropics ? reply.headers.get('x-request-id') : null, path);
    }
  }
});

test('a request is tried on two runners, not on three', async () => {
  const { socketPath: good } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(socketPath(), socketPath());
  const gateway = await startGateway([app]);
  const replying = postChat(gateway);
  await until(() => app.failures.length === 2, 'both have failed');
  app.run({ id: 'r3', socketPath: good });
  const reply = await replying;
  assert.is(reply.status, 503);
  assert.is(reply.headers.get('retry-after'), '5');
  assert.is(await codeOf(reply), 'runner_failed');
});

for (const code of ['engine_restarting', 'engine_closed'] as const) {
  test(`${code} of one runner: another one gets the request, if there is one`, async () => {
    const bad = await startRunner({ failAt: 0, failWith: new ChasquiError(code, 'Not now.') });
    const good = await startRunner();
    const app = new TestDeployment('acme', 'chat').run(bad.socketPath, good.socketPath);
    const gateway = await startGateway([app]);
    for (const stream of [false, true]) {
      const reply = await postChat(gateway, { stream });
      assert.is(reply.headers.get('x-chasqui-runner'), 'r2');
      assert.match(await reply.text(), stream ? /\[DONE\]/ : /Hello!/);
    }
    app.run(bad.socketPath);
    const alone = await postChat(gateway);
    assert.is(alone.status, 503);
    assert.is(alone.headers.get('retry-after'), '5');
    assert.is(await codeOf(alone), code);
    assert.equal(app.failures, []);
  });
}

test('other errors of a runner are not tried again', async () => {
  const bad = await startRunner({ failAt: 0, failWith: new ChasquiError('engine_failed', 'Broken.') });
  const good = await startRunner();
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(bad.socketPath, good.socketPath)]);
  const reply = await postChat(gateway);
  assert.is(await codeOf(reply), 'engine_failed');
  assert.is(good.engine.jobs.length, 0);
});

test('once a byte is out nothing is tried again: the stream ends with an error frame', async () => {
  const first = await startRawRunner((socket) => {
    socket.write(EVENTS + chunk('data: {"a":1}\n\n'));
    setTimeout(() => socket.destroy(), 20);
  });
  const second = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(first.socketPath, second.socketPath);
  const gateway = await startGateway([app]);
  const reply = await postChat(gateway, { stream: true });
  assert.is(reply.status, 200);
  assert.match(await reply.text(), /^data: {"a":1}\n\ndata: {"error":{.*"code":"runner_failed".*}}\n\n$/);
  assert.is(second.engine.jobs.length, 0);
  await until(() => gateway.usage[0]?.status === 503, 'it is counted as failed');
  assert.is(app.failures.length, 1);
});

test('a stream that breaks off in the middle of an event: the part is left out, the error is whole', async () => {
  const runner = await startRawRunner((socket) => {
    socket.write(`${EVENTS}${chunk('data: {"a":1}\n\ndata: {"b":')}40\r\ndata: cut`);
    setTimeout(() => socket.destroy(), 20);
  });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  const text = await (await postChat(gateway, { stream: true })).text();
  assert.match(text, /^data: {"a":1}\n\ndata: {"error":{.*"code":"runner_failed".*}}\n\n$/);
});

test('a reply that is no stream and breaks off does not look complete', async () => {
  for (const head of ['content-length: 100', 'transfer-encoding: chunked']) {
    const runner = await startRawRunner((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}\r\n\r\n${chunk('{"a":')}`);
      setTimeout(() => socket.destroy(), 20);
    });
    const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
    const failed = await postChat(gateway)
      .then((reply) => reply.text())
      .then(
        () => false,
        () => true,
      );
    assert.ok(failed, head);
  }
});

for (const [name, bytes] of [
  ['no HTTP', 'hello\r\n\r\n'],
  ['a status of another kind', 'HTTP/2 200\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
  ['a header with a control character', 'HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 0\r\n\r\n'],
  ['a header without a name', 'HTTP/1.1 200 OK\r\n: b\r\n\r\n'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nx: a\r\n b: c\r\n\r\n'],
  ['endless headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(80_000)}`],
  ['an end before its headers', 'HTTP/1.1 200 OK\r\nx: y\r\n'],
] as const) {
  test(`a runner that replies with ${name} is a 503, and is not asked for ever`, async () => {
    const runner = await startRawRunner((socket: net.Socket) => socket.end(bytes, 'latin1'));
    const app = new TestDeployment('acme', 'chat').run(runner.socketPath);
    app.limits.startMs = 100;
    const gateway = await startGateway([app]);
    const reply = await postChat(gateway);
    assert.is(reply.status, 503);
    assert.match(await codeOf(reply), /^(runner_failed|startup_timeout)$/);
    assert.is(app.failures.length, 1);
    assert.is(runner.requests.length, 1);
  });
}

for (const [name, bytes] of [
  ['a length that is no number', 'zz\r\n'],
  ['an endless line', `1;${'x'.repeat(5000)}`],
  ['bytes behind a chunk', '2\r\nabc\r\n'],
  ['too many trailers', `0\r\n${'a: b\r\n'.repeat(20)}\r\n`],
  ['lines without a carriage return', '2\nab\n0\n\n'],
] as const) {
  test(`a stream whose chunks have ${name} ends with an error frame`, async () => {
    const runner = await startRawRunner((socket) => {
      socket.write(EVENTS + chunk('data: 1\n\n'));
      setTimeout(() => socket.write(bytes), 20);
    });
    const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
    const text = await (await postChat(gateway, { stream: true })).text();
    assert.match(text, /"code":"runner_failed"[^\n]*\n\n$/);
    await until(() => runner.sockets.size === 0, 'the connection to the runner is closed');
  });
}

test('a reply in single bytes is read as one in a piece is', async () => {
  const bytes = `HTTP/1.1 103 Early\r\nlink: x\r\n\r\n${EVENTS}${chunk('data: {"é":"漢"}\n\n')}${chunk('data: [DONE]\n\n')}0\r\nx-chasqui-usage: 5,6,7\r\n\r\n`;
  const runner = await startRawRunner(async (socket) => {
    for (const byte of Buffer.from(bytes)) {
      socket.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  const text = await (await postChat(gateway, { stream: true })).text();
  assert.is(text, 'data: {"é":"漢"}\n\ndata: [DONE]\n\n');
  await until(() => gateway.usage.length === 1, 'it is counted');
  const { promptTokens, completionTokens, cachedTokens } = gateway.usage[0] as (typeof gateway.usage)[number];
  assert.equal([promptTokens, completionTokens, cachedTokens], [5, 6, 7]);
});

test('an event that comes in two parts comes through whole', async () => {
  const runner = await startRawRunner((socket) => {
    socket.write(EVENTS + chunk('data: 1\n\ndata: {"b"'));
    setTimeout(() => socket.end(`${chunk(':2}\n\ndata: [DONE]\n\n')}0\r\n\r\n`), 20);
  });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  assert.is(await (await postChat(gateway, { stream: true })).text(), 'data: 1\n\ndata: {"b":2}\n\ndata: [DONE]\n\n');
});

test('a reply whose end is that of the connection comes through', async () => {
  const runner = await startRawRunner((socket) =>
    socket.end('HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nall of it'),
  );
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  assert.is(await (await postChat(gateway)).text(), 'all of it');
});

test('a request that takes longer than the app allows ends with an error', async () => {
  const { socketPath: socket, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run(socket);
  app.limits.requestMs = 3_600_000;
  const gateway = await startGateway([app]);
  const { setTimeout } = globalThis;
  const limits: (() => void)[] = [];
  globalThis.setTimeout = ((run: () => void, ms?: number, ...args: []) => {
    if (ms === app.limits.requestMs) limits.push(run);
    return setTimeout(run, ms, ...args);
  }) as typeof setTimeout;
  try {
    const stream = postChat(gateway, { stream: true });
    await until(() => engine.running.size === 1, 'the runner has it');
    engine.step();
    const reply = await stream;
    limits[0]?.();
    assert.match(await reply.text(), /"code":"time_limit_exceeded"[^\n]*\n\n$/);
    const replying = postChat(gateway);
    await until(() => engine.jobs.length === 2, 'the runner has the second');
    limits[1]?.();
    const whole = await replying;
    assert.is(whole.status, 400);
    assert.is(await codeOf(whole), 'time_limit_exceeded');
    await until(() => engine.cancelled === 2, 'the runner computes them no more');
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

test.run();
