// No stream of a healthy runner ends without its last event, however its bytes come; one that a runner ends too early
// ends with an error.
import http from 'node:http';
import type net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CHAT,
  closeGateways,
  postChat,
  startGateway,
  startRawRunner,
  startRunner,
  TestDeployment,
  type TestGateway,
  WITH_KEY,
} from '../support/gateway.js';
import { until } from '../support/until.js';

const test = suite('cloud: ends of streams');

test.after.each(closeGateways);

const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const DONE = 'data: [DONE]\n\n';
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const LAST_CHUNK = '0\r\n\r\n';

/** A gateway before a runner that serves each connection in this way. */
async function before(serve: (socket: net.Socket) => void): Promise<{ gateway: TestGateway; app: TestDeployment }> {
  const runner = await startRawRunner(serve);
  const app = new TestDeployment('acme', 'chat').run(runner.socketPath);
  return { gateway: await startGateway([app]), app };
}

for (const [path, event, end] of [
  ['/v1/chat/completions', 'data: {"choices":[]}\n\n', DONE],
  ['/v1/completions', 'data: {"choices":[]}\n\n', DONE],
  ['/v1/messages', 'event: message_start\ndata: {}\n\n', 'event: message_stop\ndata: {}\n\n'],
  ['/v1/responses', 'event: response.created\ndata: {}\n\n', 'event: response.completed\ndata: {}\n\n'],
] as const) {
  test(`${path}: a runner that ends the stream in good order, but too early, is told of`, async () => {
    for (const sent of [event, `${event}${end.slice(0, -2)}`, '']) {
      const { gateway, app } = await before((socket) => {
        socket.end(EVENTS + (sent === '' ? '' : chunk(sent)) + LAST_CHUNK);
      });
      const reply = await postChat(gateway, { stream: true }, { path: `/acme/chat${path}` });
      const text = await reply.text();
      assert.ok(text.startsWith(sent === '' ? '' : event), text);
      assert.match(text, /(^|\n)(event: error\n)?data: {.*"code":"runner_failed".*}\n\n$/);
      assert.not.match(text, /DONE|_stop|completed/);
      assert.equal(app.failures, ['r1: it ended the stream before the final event']);
      await until(() => gateway.usage[0]?.status === 503, 'it is counted as failed');
    }
  });

  test(`${path}: a whole stream is passed on as it is`, async () => {
    for (const last of [end, 'event: error\ndata: {"error":{}}\n\n', 'data: {"error":{"code":"engine_failed"}}\n\n']) {
      if (path.includes('completions') === last.startsWith('event: error')) continue;
      if (!path.includes('completions') && last.startsWith('data')) continue;
      const { gateway, app } = await before((socket) => {
        socket.end(EVENTS + chunk(event) + chunk(last) + LAST_CHUNK);
      });
      const reply = await postChat(gateway, { stream: true }, { path: `/acme/chat${path}` });
      assert.is(await reply.text(), event + last);
      assert.equal(app.failures, []);
    }
  });
}

test('a stream that ends with its connection is held to its last event, too', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
  for (const [sent, expected] of [
    ['data: 1\n\n', /^data: 1\n\ndata: {"error":{.*}}\n\n$/],
    [`data: 1\n\n${DONE}`, /^data: 1\n\ndata: \[DONE\]\n\n$/],
  ] as const) {
    const { gateway } = await before((socket) => socket.end(head + sent));
    assert.match(await (await postChat(gateway, { stream: true })).text(), expected);
  }
});

test('wherever the bytes of a reply are cut, the client gets all of it, and the trailer is read', async () => {
  const text = `data: 1\n\ndata: ${'ü'.repeat(8)}\n\n${DONE}`;
  const whole = Buffer.from(
    `${EVENTS}${chunk('data: 1\n\n')}${Buffer.byteLength(text.slice(9)).toString(16)};x=y\r\n${text.slice(9)}\r\n` +
      '0\r\nx-chasqui-usage: 3,2,1\r\n\r\n',
  );
  let at = 0;
  const { gateway, app } = await before((socket) => {
    socket.write(whole.subarray(0, at));
    // The gateway is in this process: it reads between one round of the loop and the next but one.
    setImmediate(() => setImmediate(() => socket.end(whole.subarray(at))));
  });
  for (at = 0; at <= whole.length; at++) {
    assert.is(await (await postChat(gateway, { stream: true })).text(), text, `cut at ${at}`);
    assert.is(gateway.usage.at(-1)?.completionTokens, 2, `cut at ${at}`);
  }
  assert.equal(app.failures, []);
});

test('an event of megabytes goes on in pieces, and the end behind it is found', async () => {
  const large = `data: ${'x'.repeat(3 * 2 ** 20)}\n\n`;
  for (const end of [DONE, '']) {
    const { gateway } = await before((socket) => socket.end(EVENTS + chunk(large) + (end && chunk(end)) + LAST_CHUNK));
    const text = await (await postChat(gateway, { stream: true })).text();
    assert.ok(text.startsWith(large));
    assert.match(text.slice(large.length), end === '' ? /^data: {"error":/ : /^data: \[DONE\]\n\n$/);
  }
});

/** Reads a stream over one of the agent's connections. */
function readStream({ port }: TestGateway, agent: http.Agent): Promise<string> {
  const body = JSON.stringify({ model: 'fake', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
  const headers = { ...WITH_KEY, 'content-type': 'application/json', 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const request = http.request({ port, agent, method: 'POST', path: CHAT, headers });
    request.once('error', reject);
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data) => {
        text += data;
      });
      response.once('error', reject).once('end', () => resolve(text));
    });
    request.end(body);
  });
}

async function readMany(gateway: TestGateway, count: number): Promise<string[]> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  const texts = await Promise.all(Array.from({ length: count }, () => readStream(gateway, agent)));
  agent.destroy();
  return texts;
}

test('thousands of short streams over a few connections, from runners that close at once: all are whole', async () => {
  const frames = Array.from({ length: 5 }, (_, at) => `data: {"at":${at}}\n\n`);
  let served = 0;
  const runner = await startRawRunner((socket) => {
    served += 1;
    const parts = [EVENTS, ...frames.map(chunk), chunk(DONE), LAST_CHUNK];
    // In one piece, in two, or each part by itself in the same round.
    const pieces = [[parts.join('')], [parts.slice(0, 3).join(''), parts.slice(3).join('')], parts][served % 3] ?? [];
    for (const piece of pieces) socket.write(piece);
    if (served % 2 === 0) socket.end();
    else socket.destroySoon();
  });
  const app = new TestDeployment('acme', 'chat').run({ id: 'r1', socketPath: runner.socketPath, slots: 64 });
  app.limits.requests = 5000;
  const gateway = await startGateway([app]);
  const whole = frames.join('') + DONE;
  for (const text of await readMany(gateway, 3000)) assert.is(text, whole);
  assert.equal(app.failures, []);
});

test("hundreds of short streams of the server's own: all end with [DONE]", async () => {
  const { socketPath } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run({ id: 'r1', socketPath, slots: 64 });
  app.limits.requests = 1000;
  const gateway = await startGateway([app]);
  for (const text of await readMany(gateway, 600)) assert.match(text, /data: \[DONE\]\n\n$/);
  assert.equal(app.failures, []);
});

test.run();
