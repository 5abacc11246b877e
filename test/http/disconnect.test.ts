import { once } from 'node:events';
import type net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilAborted } from '../../ts/engine/calls.js';
import type { AbortOptions } from '../../ts/engine/engine.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { HELLO, plainPrompt } from '../support/fake-engine.js';
import { chatText, openConnections, sendChat, sendRequest, watchBackpressure } from '../support/raw-client.js';
import { readJson } from '../support/read-json.js';
import { until } from '../support/until.js';

const test = suite('http: clients that go away');

test.after.each(closeApps);

for (const stream of [false, true]) {
  const kind = stream ? 'streamed' : 'whole';

  test(`${kind}: gone before the first token`, async () => {
    const { engine, url, serverErrors } = await listeningApp({ manual: true });
    const socket = sendChat(url, { stream });
    await until(() => engine.running.size === 1, 'the job is submitted');
    socket.destroy();
    await until(() => engine.running.size === 0, 'the sequence is freed');
    assert.is(engine.cancelled, 1);
    assert.equal(serverErrors, []);
  });

  test(`${kind}: gone between tokens`, async () => {
    const { engine, url, serverErrors } = await listeningApp({ manual: true });
    const socket = sendChat(url, { stream });
    await until(() => engine.running.size === 1, 'the job is submitted');
    engine.step();
    if (stream) await until(() => socket.bytesRead > 0, 'the first chunk arrives');
    socket.destroy();
    await until(() => engine.running.size === 0, 'the sequence is freed');
    assert.is(engine.cancelled, 1);
    assert.equal(serverErrors, []);
  });

  test(`${kind}: gone while the prompt is rendered`, async () => {
    let rendering = false;
    let release = (): void => undefined;
    const { app, engine, url } = await listeningApp({ manual: true });
    engine.renderChat = () => {
      rendering = true;
      return new Promise((resolve) => (release = () => resolve(plainPrompt('x'))));
    };
    const socket = sendChat(url, { stream });
    await until(() => rendering, 'the template runs');
    socket.destroy();
    await until(async () => (await openConnections(app.server)) === 0, 'the server sees it');
    release();
    await until(() => engine.running.size === 0, 'no sequence is held');
    assert.is(engine.finished, 0);
  });
}

const asking = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 };
const PREPARED: [what: string, method: 'tokenize' | 'pieces' | 'countTokens', path: string, body: object][] = [
  ['the tokens of a text', 'tokenize', '/tokenize', { content: 'Hi' }],
  ['the pieces of a text', 'pieces', '/tokenize', { content: 'Hi', with_pieces: true }],
  ['the text of tokens', 'pieces', '/detokenize', { tokens: [1] }],
  ['the count of messages', 'countTokens', '/v1/messages/count_tokens', { model: 'fake', ...asking }],
  ['the count before a stream', 'countTokens', '/v1/messages', { model: 'fake', ...asking, stream: true }],
  ['the count of a response’s input', 'countTokens', '/v1/responses/input_tokens', { model: 'fake', input: 'Hi' }],
];

for (const [what, method, path, body] of PREPARED) {
  test(`gone while it waits for ${what}: the preparation is cancelled`, async () => {
    let queued = 0;
    let cancelled = 0;
    const { engine, url, serverErrors } = await listeningApp();
    engine[method] = (_given: unknown, { signal }: AbortOptions = {}): Promise<never> => {
      queued += 1;
      return untilAborted(new Promise<never>(() => {}), signal, () => {
        cancelled += 1;
      });
    };
    const socket = sendRequest(url, path, { ...body });
    await until(() => queued === 1, 'the preparation is queued');
    socket.destroy();
    await until(() => cancelled === 1, 'the preparation is cancelled');
    assert.is(engine.jobs.length, 0);
    assert.equal(serverErrors, []);
  });
}

test('gone with requests waiting behind the first: none of them is computed', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const socket = sendChat(url, { stream: true });
  await until(() => engine.running.size === 1, 'the first job is submitted');
  let received = 0;
  app.server.on('request', () => (received += 1));
  for (const count of [1, 2]) {
    socket.write(chatText({ stream: true }));
    await until(() => received === count, 'the next request is there');
  }
  engine.step();
  await until(() => socket.bytesRead > 0, 'the first chunk arrives');
  socket.destroy();
  await until(() => engine.running.size === 0, 'the sequence is freed');
  await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  assert.equal([engine.jobs.length, engine.cancelled], [1, 1]);
});

test('a client that stays is not taken for gone', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  const reply = fetch(url + CHAT_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody()),
  });
  await until(() => engine.running.size === 1, 'the job is submitted');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.is(engine.running.size, 1);
  for (const _ of HELLO) engine.step();
  assert.is((await readJson(await reply)).choices[0].message.content, 'Hello!');
  assert.is(engine.cancelled, 0);
});

const PAGES = 400;
const manyPages = { batches: () => Array.from({ length: PAGES }, () => [{ text: 'x'.repeat(100_000) }]) };

test('a client that does not read stops the pulling, not the server', async () => {
  const { app, engine, url } = await listeningApp(manyPages);
  const untilBackpressure = watchBackpressure(app.server);
  const socket = sendChat(url, { stream: true });
  socket.pause();
  await untilBackpressure();
  assert.ok(engine.pulled < PAGES, `pulled ${engine.pulled} of ${PAGES} batches for a client that reads nothing`);

  assert.is((await fetch(`${url}/health`)).status, 200);
  socket.resume();
  await until(() => engine.finished === 1, 'the rest is pulled once it reads');
  assert.is(engine.pulled, PAGES);
  socket.destroy();
});

test('a client that does not read and then goes frees its sequence', async () => {
  const { app, engine, url } = await listeningApp(manyPages);
  const untilBackpressure = watchBackpressure(app.server);
  const socket = sendChat(url, { stream: true });
  socket.pause();
  await untilBackpressure();
  assert.is(engine.running.size, 1);
  socket.destroy();
  await until(() => engine.running.size === 0, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
});

test('a client that reads nothing for too long is cut off, and its sequence freed', async () => {
  const { engine, url, serverErrors } = await listeningApp(manyPages, { stallTimeoutMs: 50 });
  const socket = sendChat(url, { stream: true });
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await until(() => engine.running.size === 0 && engine.jobs.length === 1, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
  assert.equal(serverErrors, []);
  socket.resume();
  await closed;
});

/** More than the system's own buffers take. */
const oneLargePage = { batches: () => [[{ text: 'x'.repeat(30_000_000) }]] };

test('a client that does not read its whole reply is cut off as well', async () => {
  const { app, engine, url, serverErrors } = await listeningApp(oneLargePage, { stallTimeoutMs: 100 });
  const socket = sendChat(url, {});
  socket.pause();
  await until(() => engine.finished === 1, 'all is computed');
  await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  assert.equal(serverErrors, []);
  socket.destroy();
});

test('so is one that stops reading when nothing but the last events is left', async () => {
  // Four times this is more than the system's own buffers take, which grow to 36 MiB for a client that was slow for a while.
  const length = 12_000_000;
  const stallTimeoutMs = 1_000_000;
  const { app, engine, url } = await listeningApp(
    { batches: () => [[{ text: 'x'.repeat(length) }], [{ text: '' }]] },
    { stallTimeoutMs },
  );
  const connected = once(app.server, 'connection');
  // The last events of this protocol repeat the answer four times.
  const socket = sendRequest(url, '/v1/responses', { model: 'fake', input: 'Hi', stream: true });
  socket.on('data', () => {
    if (socket.bytesRead > length) socket.pause();
  });
  const [connection] = (await connected) as [net.Socket];
  const waits = () => engine.finished === 1 && socket.isPaused() && connection.timeout === stallTimeoutMs;
  await until(waits, 'all is computed, and the client has limited time');
  connection.emit('timeout');
  await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  assert.ok(socket.bytesRead < 4 * length, `${socket.bytesRead} bytes were read`);
  socket.destroy();
});

for (const stream of [false, true]) {
  test(`a client that reads the end of its reply slowly gets all of it (${stream ? 'streamed' : 'whole'})`, async () => {
    // Repeats with a longer limit if the client itself could not read for a part of the limit.
    for (let stallTimeoutMs = 600; ; stallTimeoutMs *= 2) {
      const { bytes, tookMs, longestMs } = await readSlowly(stream, stallTimeoutMs);
      if (bytes <= 30_000_000 && longestMs > stallTimeoutMs / 4) continue;
      assert.ok(bytes > 30_000_000, `${bytes} bytes`);
      assert.ok(tookMs > stallTimeoutMs, `${tookMs} ms`);
      return;
    }
  });
}

/** Reads 30 MB with 30 pauses, which together take longer than the limit. */
async function readSlowly(stream: boolean, stallTimeoutMs: number) {
  const { url } = await listeningApp(oneLargePage, { stallTimeoutMs });
  const socket = sendChat(url, { stream });
  let pieces = 0;
  let longestMs = 0;
  let began = 0;
  let last = 0;
  const measure = () => {
    const now = performance.now();
    began ||= now;
    if (last > 0) longestMs = Math.max(longestMs, now - last);
    last = now;
  };
  socket.on('data', () => {
    measure();
    pieces += 1;
    if (pieces % 15 !== 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), stallTimeoutMs / 20);
  });
  await until(() => socket.bytesRead > 30_000_000 || socket.destroyed, 'it has read all');
  measure();
  socket.destroy();
  return { bytes: socket.bytesRead, tookMs: last - began, longestMs };
}

test('a client that reads late but in time is not', async () => {
  const { app, engine, url } = await listeningApp(manyPages, { stallTimeoutMs: 60_000 });
  const untilBackpressure = watchBackpressure(app.server);
  const socket = sendChat(url, { stream: true });
  socket.pause();
  await untilBackpressure();
  socket.resume();
  await until(() => engine.finished === 1, 'the rest is pulled once it reads');
  socket.destroy();
});

test('100 clients that drop at any moment leave nothing behind', async () => {
  const { app, engine, url, serverErrors } = await listeningApp({
    batches: () => Array.from({ length: 20 }, (_, i) => [{ text: `${i} ` }]),
  });
  for (let i = 0; i < 100; i++) {
    const socket = sendChat(url, { stream: i % 2 === 0 });
    if (i % 3 === 0) socket.once('data', () => socket.destroy());
    else setTimeout(() => socket.destroy(), i % 10);
  }
  await until(async () => (await openConnections(app.server)) === 0 && engine.jobs.length >= 34, 'all are gone');
  await until(() => engine.running.size === 0, 'no sequence is held');
  assert.equal(serverErrors, []);
  assert.is((await fetch(`${url}/health`)).status, 200);
});

test.run();
