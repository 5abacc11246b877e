import http from 'node:http';
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { cpuMs } from '../support/cpu-time.js';
import { expectError } from '../support/expect-error.js';
import { parseReply, sendBytes } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('http: bodies that are meant to do harm');

test.after.each(closeApps);

const MIB = 2 ** 20;
/** CPU time. What took seconds, minutes or the whole process takes a moment. */
const LIMIT_MS = 10_000;

const HOSTILE: [name: string, body: () => Buffer, status: number, code: string, says: RegExp][] = [
  ['63 MiB of brackets', () => Buffer.alloc(63 * MIB, '['), 400, 'invalid_value', /limit, 128 levels/],
  ['63 MiB of objects', () => Buffer.alloc(63 * MIB, '{},'), 413, 'request_too_large', /limit, 100000 objects/],
  ['63 MiB of numbers', () => Buffer.alloc(63 * MIB, '1,'), 413, 'request_too_large', /limit, 1000000 values/],
  ['63 MiB of keys', () => Buffer.alloc(63 * MIB, '{"a":1,"b":2},'), 413, 'request_too_large', /limit/],
  ['63 MiB of blanks', () => Buffer.alloc(63 * MIB, ' '), 400, 'invalid_json', /not valid JSON/],
  ['63 MiB of one text', () => chatOf('x'.repeat(62 * MIB)), 413, 'request_too_large', /limit, 4194304 characters/],
  ['a body over the limit', () => Buffer.alloc(65 * MIB, ' '), 413, 'request_too_large', /limit, 67108864 bytes/],
];

function chatOf(content: string): Buffer {
  return Buffer.from(JSON.stringify(chatBody({ messages: [{ role: 'user', content }] })));
}

for (const [name, body, status, code, says] of HOSTILE) {
  test(`${name}: refused at once, and in little memory`, async () => {
    const { app } = testApp();
    const payload = body();
    const before = process.memoryUsage().rss;
    const begun = cpuMs();
    const reply = await app.inject({ method: 'POST', url: CHAT_PATH, headers: JSON_HEADERS, payload });
    expectError(reply, { status, code, says });
    assert.ok(cpuMs() - begun < LIMIT_MS, `${cpuMs() - begun} ms`);
    const grownMiB = (process.memoryUsage().rss - before) / MIB;
    assert.ok(grownMiB < 600, `${grownMiB} MiB more`);
  });
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const TEXT_PATHS = ['/v1/completions', '/v1/embeddings', '/v1/rerank', '/v2/embed', '/tokenize', '/detokenize'];
const IMAGE_PATHS = [
  CHAT_PATH,
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/apply-template',
  '/predict',
];

for (const profile of [undefined, desktop]) {
  test(`only where images are taken may a body be large (${profile?.mode ?? 'runtime'})`, async () => {
    const { app } = testApp({}, {}, profile);
    const payload = Buffer.alloc(5 * MIB, ' ');
    for (const url of TEXT_PATHS) {
      const reply = await app.inject({ method: 'POST', url, headers: JSON_HEADERS, payload });
      expectError(reply, { status: 413, code: 'request_too_large', says: /limit, 4194304 bytes/ });
    }
    for (const url of IMAGE_PATHS) {
      const reply = await app.inject({ method: 'POST', url, headers: JSON_HEADERS, payload });
      assert.is(JSON.parse(reply.body).error.code, 'invalid_json', url);
    }
  });
}

test('a large image is no large text, in any protocol', async () => {
  const { send } = testApp({ model: { vision: true } });
  const data = 'A'.repeat(8 * MIB);
  const url = `data:image/png;base64,${data}`;
  const ask = (content: object[]) => ({ model: 'fake', max_tokens: 1, messages: [{ role: 'user', content }] });
  const bodies: [string, object][] = [
    [CHAT_PATH, ask([{ type: 'image_url', image_url: { url } }])],
    ['/v1/messages', ask([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }])],
    ['/v1/responses', { model: 'fake', input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }],
  ];
  for (const [path, body] of bodies) {
    assert.is(JSON.parse((await send(path, body)).body).error.code, 'invalid_image', path);
  }
});

test('strings that become text count as text, even if they look like images', async () => {
  const { send } = testApp({ model: { vision: true } });
  const data = 'A'.repeat(8 * MIB);
  const source = { type: 'base64', media_type: 'text/plain', data };
  const ask = (role: string, content: object[]) => ({ model: 'fake', max_tokens: 1, messages: [{ role, content }] });
  const action = { type: 'open', url: `data:image/png;base64,${data}` };
  const bodies: [string, object][] = [
    ['/v1/messages', ask('user', [{ type: 'document', source }])],
    [
      '/v1/messages',
      ask('assistant', [{ type: 'tool_use', id: 'a', name: 'f', input: { ...source, media_type: '' } }]),
    ],
    ['/v1/responses', { model: 'fake', input: [{ type: 'computer_call', call_id: 'a', action }] }],
  ];
  for (const [path, body] of bodies) {
    const { statusCode, body: reply } = await send(path, body);
    assert.is(statusCode, 413, path);
    assert.match(JSON.parse(reply).error.message, /limit, 4194304 characters/);
  }
});

function startBody(url: string, announced: number, sent: number): net.Socket {
  const head = [`POST ${CHAT_PATH} HTTP/1.1`, 'host: localhost', 'content-type: application/json'];
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => {
    socket.write(`${head.join('\r\n')}\r\ncontent-length: ${announced}\r\n\r\n`);
    socket.write(Buffer.alloc(sent, ' '));
  });
  socket.on('error', () => undefined);
  return socket;
}

test('unfinished bodies make way, and nobody else notices', async () => {
  const { url, app } = await listeningApp();
  const before = process.memoryUsage().rss;
  const replies: string[] = [];
  const sockets = Array.from({ length: 20 }, () => startBody(url, 16 * MIB, 16 * MIB - 1));
  for (const socket of sockets) socket.once('data', (data) => replies.push(String(data)));
  await until(() => replies.length >= 6, 'some of them are cut off');
  for (const reply of replies) {
    assert.match(reply, /^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n.*"code":"server_busy"/s);
  }
  for (const content of ['Hi', 'x'.repeat(1 * MIB)]) {
    const body = JSON.stringify(chatBody({ messages: [{ role: 'user', content }] }));
    const reply = await fetch(url + CHAT_PATH, { method: 'POST', headers: JSON_HEADERS, body });
    assert.is(reply.status, content.length > 4096 ? 400 : 200, await reply.text());
  }
  const grownMiB = (process.memoryUsage().rss - before) / MIB;
  assert.ok(grownMiB < 800, `${grownMiB} MiB more`);
  for (const socket of sockets) socket.destroy();
  await until(() => app.server.listening, 'it still listens');
});

test('the room of bodies is free again when their replies are over, however they end', async () => {
  const { url } = await listeningApp({ model: { vision: true } });
  const content = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(48 * MIB)}` } }];
  const body = JSON.stringify(chatBody({ messages: [{ role: 'user', content }] }));
  for (let round = 0; round < 7; round++) {
    const reply = await fetch(url + CHAT_PATH, { method: 'POST', headers: JSON_HEADERS, body });
    assert.is(((await reply.json()) as { error: { code: string } }).error.code, 'image_too_large', `round ${round}`);
    const socket = startBody(url, 60 * MIB, 40 * MIB);
    await until(() => socket.bytesWritten > 40 * MIB && socket.writableLength === 0, 'most of it is sent');
    socket.destroy();
  }
});

test('bytes of a chunked body one by one are stopped before they are many', async () => {
  const { url } = await listeningApp();
  const head = `POST ${CHAT_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const reply = parseReply(await sendBytes(url, head + '1\r\n \r\n'.repeat(20_000)));
  expectError(reply, { status: 400, code: 'bad_request', says: /10000 pieces/ });
});

test('a body that stops coming is a 408, and its connection ends', async () => {
  const { url } = await listeningApp({}, { bodySilenceMs: 100 });
  const head = `POST ${CHAT_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n`;
  expectError(parseReply(await sendBytes(url, `${head}{`)), { status: 408, code: 'request_timeout' });
});

test('a body that comes slowly but steadily is taken', async () => {
  const { url } = await listeningApp({}, { bodySilenceMs: 300 });
  const body = JSON.stringify(chatBody());
  const status = await new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { ...JSON_HEADERS, 'content-length': body.length } };
    const request = http.request(url + CHAT_PATH, options, ({ statusCode }) => resolve(statusCode));
    request.on('error', reject);
    const pieces = body.match(/.{1,5}/gs) ?? [];
    const timer = setInterval(() => {
      const piece = pieces.shift();
      if (piece !== undefined) return void request.write(piece);
      clearInterval(timer);
      request.end();
    }, 40);
  });
  assert.is(status, 200);
});

test.run();
