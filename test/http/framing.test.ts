import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('http: streamed replies on the wire');

test.after.each(closeApps);

/** Of one, two, three and four bytes in UTF-8, and one long enough to need three digits of length. */
const TEXTS = ['plain', 'é', '漢字', '😀', 'x'.repeat(500), '', '"\\\n'];
const script = { batches: () => TEXTS.map((text) => [{ text }]) };

function requestText(version: string, headers: string[] = []): string {
  const body = JSON.stringify(chatBody({ stream: true }));
  const head = [
    `POST ${CHAT_PATH} HTTP/${version}`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Sends all at once and reads until the server closes, with a rest after every `restAfter` pieces. */
function exchange(url: string, text: string, restAfter = Number.POSITIVE_INFINITY): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      if (pieces.length % restAfter !== 0) return;
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    socket.on('error', reject);
    socket.on('end', () => resolve(Buffer.concat(pieces)));
  });
}

/** Takes replies apart by the letter: every chunk as long as it says, nothing between them, nothing behind the last. */
function readChunkedReplies(bytes: Buffer): string[] {
  const bodies: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    const head = bytes.toString('latin1', at, headEnd).toLowerCase();
    assert.ok(head.startsWith('http/1.1 200 ') && head.includes('transfer-encoding: chunked'), head);
    at = headEnd + 4;
    const pieces: Buffer[] = [];
    for (let length = -1; length !== 0; ) {
      const lineEnd = bytes.indexOf('\r\n', at);
      const line = bytes.toString('latin1', at, lineEnd);
      assert.match(line, /^[0-9a-f]+$/);
      length = Number.parseInt(line, 16);
      at = lineEnd + 2 + length;
      pieces.push(bytes.subarray(lineEnd + 2, at));
      assert.is(bytes.toString('latin1', at, at + 2), '\r\n');
      at += 2;
    }
    bodies.push(Buffer.concat(pieces).toString());
  }
  return bodies;
}

function answerIn(body: string): string {
  const { events, done } = readSse(body);
  assert.ok(done);
  return events.map(({ choices }) => choices[0].delta.content ?? '').join('');
}

test('every chunk is as long as it says, whatever its characters', async () => {
  const { url } = await listeningApp(script);
  const bodies = readChunkedReplies(await exchange(url, requestText('1.1', ['connection: close'])));
  assert.equal(bodies.map(answerIn), [TEXTS.join('')]);
});

test('requests sent one behind another are answered one behind another', async () => {
  const { url } = await listeningApp(script);
  const requests = [requestText('1.1'), requestText('1.1'), requestText('1.1', ['connection: close'])];
  const bodies = readChunkedReplies(await exchange(url, requests.join('')));
  assert.equal(bodies.map(answerIn), Array(3).fill(TEXTS.join('')));
});

test('a client of HTTP/1.0 gets no chunks: its answer ends with the connection', async () => {
  const { url } = await listeningApp(script);
  const reply = (await exchange(url, requestText('1.0'))).toString();
  const headEnd = reply.indexOf('\r\n\r\n');
  assert.match(reply, /^HTTP\/1\.1 200 /);
  assert.not.match(reply.slice(0, headEnd), /transfer-encoding/i);
  assert.is(answerIn(reply.slice(headEnd + 4)), TEXTS.join(''));
});

/** Reads until the server closes, and sends more as soon as the reply has begun. */
function interrupt(url: string, text: string, more: string): Promise<string> {
  return new Promise((resolve) => {
    let read = '';
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.once('data', () => socket.write(more));
    socket.on('data', (piece) => (read += piece));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(read));
  });
}

for (const [name, more] of [
  ['no HTTP', 'nonsense\r\n\r\n'],
  ['headers without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ['a request, and then no HTTP', `${requestText('1.1')}nonsense\r\n\r\n`],
] as const) {
  test(`bytes that are ${name} do not come back in the middle of a stream`, async () => {
    const { url, engine } = await listeningApp({ manual: true });
    const reading = interrupt(url, requestText('1.1'), more);
    await until(() => engine.running.size > 0, 'the job is submitted');
    engine.step();
    const read = await reading;
    assert.is(read.match(/HTTP\/1\.1 /g)?.length, 1, read);
    assert.match(read, /^HTTP\/1\.1 200 /);
    await until(() => engine.running.size === 0, 'the sequences are freed');
  });
}

test('a body that goes on after its reply is not answered once more', async () => {
  const { url, app } = await listeningApp();
  const head = 'POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{';
  const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  app.server.once('connection', (socket) => {
    app.server.once('request', (_request, response) => {
      response.once('finish', () => setImmediate(() => app.server.emit('clientError', late, socket)));
    });
  });
  const read = await interrupt(url, head, 'x');
  assert.match(read, /^HTTP\/1\.1 404 /);
  assert.is(read.match(/HTTP\/1\.1 /g)?.length, 1, read);
});

test('a slow reader gets all of it, in order', async () => {
  const pages = Array.from({ length: 300 }, (_, page) => `${page} ${'é'.repeat(20_000)} `);
  const { url } = await listeningApp({ batches: () => pages.map((text) => [{ text }]) });
  const bodies = readChunkedReplies(await exchange(url, requestText('1.1', ['connection: close']), 10));
  assert.ok(answerIn(bodies[0] as string) === pages.join(''), 'the answer differs');
  assert.is(bodies.length, 1);
});

test.run();
