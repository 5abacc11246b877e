import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { HELLO } from '../support/fake-engine.js';
import { sendChat, watchBackpressure } from '../support/raw-client.js';
import { readJson } from '../support/read-json.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('http: stopping');

test.after.each(closeApps);

/** An unawaited failure must not end the test run. */
function startChat(url: string, stream: boolean): Promise<Response> {
  const body = JSON.stringify(chatBody({ stream }));
  const reply = fetch(url + CHAT_PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  reply.catch(() => undefined);
  return reply;
}

test('running replies that outlast the patience end with an error', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const streamed = startChat(url, true);
  await until(() => engine.running.size === 1, 'the first job is submitted');
  engine.step();
  const stream = await streamed;
  const whole = startChat(url, false);
  await until(() => engine.running.size === 2, 'the second job is submitted');

  const closed = app.close();
  const { events, done } = readSse(await stream.text());
  assert.is(events.at(-1).error.code, 'engine_closed');
  assert.not.ok(done);
  const reply = await whole;
  assert.is(reply.status, 503);
  assert.is((await readJson(reply)).error.code, 'engine_closed');
  await closed;
  assert.is(engine.running.size, 0);
});

test('running replies may finish first, while new requests are turned away', async () => {
  const { app, engine, url } = await listeningApp({ manual: true }, { drainMs: 60_000 });
  const whole = startChat(url, false);
  await until(() => engine.running.size === 1, 'the job is submitted');

  const closed = app.close();
  let health = await fetch(`${url}/health`);
  await until(async () => {
    health = await fetch(`${url}/health`);
    return health.status === 503;
  }, 'the server says that it stops');
  assert.is((await readJson(health)).error.code, 'engine_closed');
  assert.is(health.headers.get('retry-after'), '5');
  assert.is((await startChat(url, true)).status, 503);

  for (const _ of HELLO) engine.step();
  assert.is((await readJson(await whole)).choices[0].message.content, 'Hello!');
  await closed;
  assert.is(engine.jobs.length, 1);
});

test('an idle server closes at once, twice without harm', async () => {
  const { app, url } = await listeningApp({}, { drainMs: 60_000 });
  await (await fetch(`${url}/health`)).text();
  await app.close();
  await app.close();
  await rejects(fetch(`${url}/health`));
});

test('a client that does not read cannot hold the server up', async () => {
  const { app, engine, url } = await listeningApp({
    batches: () => Array.from({ length: 400 }, () => [{ text: 'x'.repeat(100_000) }]),
  });
  const untilBackpressure = watchBackpressure(app.server);
  const socket = sendChat(url, { stream: true });
  socket.pause();
  await untilBackpressure();
  await app.close();
  assert.is(engine.running.size, 0);
  assert.is(engine.cancelled, 1);
  socket.destroy();
});

test('a request that has not arrived in full cannot either', async () => {
  const { app, url } = await listeningApp();
  const { hostname, port } = new URL(url);
  const head = `POST ${CHAT_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`;
  const socket = net.connect(Number(port), hostname, () => socket.write(head));
  socket.on('error', () => undefined);
  const arrived = new Promise((resolve) => app.server.once('request', resolve));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await arrived;
  await app.close();
  await closed;
});

async function rejects(promise: Promise<unknown>): Promise<void> {
  const outcome = await promise.then(
    () => 'resolved',
    () => 'rejected',
  );
  assert.is(outcome, 'rejected');
}

test.run();
