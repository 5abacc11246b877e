// 200 simultaneous clients on four apps: each receives its own complete reply, and no resources remain afterwards.
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('cloud: many clients');
const APPS = ['north', 'east', 'south', 'west'];
const CLIENTS = 200;
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
  for (const app of APPS) await cloud.deployed(app, { context: 256, slots: 8, scale: { keepAlive: '10m' } });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

/** The only text that the client's schema allows: the model has no say in it. */
const textOf = (number: number) => `"client ${number}"`;

async function ask(number: number): Promise<string> {
  const app = APPS[number % APPS.length] as string;
  const isStream = number % 2 === 0;
  const schema = { const: `client ${number}` };
  const reply = await cloud.post(app, {
    ...{ stream: isStream, max_tokens: 60, messages: [{ role: 'user', content: `Who am I, ${number}?` }] },
    response_format: { type: 'json_schema', json_schema: { name: 'me', schema } },
  });
  assert.is(reply.status, 200, reply.status === 200 ? '' : await reply.text());
  // A stream that waited began with comments, when no runner had it.
  if (!isStream) assert.ok(reply.headers.get('x-chasqui-runner'));
  if (!isStream) return ((await reply.json()) as Completion).choices[0]?.message.content ?? '';
  const { events, done } = readSse(await reply.text());
  assert.ok(done, 'the stream is whole');
  return events.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
}

interface Completion {
  choices: { message: { content: string } }[];
}

/** Is gone when the first bytes of its stream have come. */
async function leave(number: number): Promise<void> {
  const leaving = new AbortController();
  const reply = await fetch(`${cloud.url}/me/${APPS[number % APPS.length]}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chasqui-demo', prompt: 'On', max_tokens: 200, ignore_eos: true, stream: true }),
    signal: leaving.signal,
  });
  assert.is(reply.status, 200);
  await reply.body?.getReader().read();
  leaving.abort();
}

test('200 at once, and others that leave in the middle', async () => {
  const numbers = Array.from({ length: CLIENTS }, (_, number) => number);
  const leaving = numbers.slice(0, 20).map(leave);
  const texts = await Promise.all(numbers.map(ask));
  assert.equal(texts, numbers.map(textOf));
  await Promise.all(leaving);
  for (const app of APPS) {
    await cloud.untilApp(app, ({ demand, runners }) => {
      return demand.running === 0 && demand.queued === 0 && runners.every(({ running }) => running === 0);
    });
    assert.is((await cloud.status(app)).runners.length, 1);
    const events = await cloud.events(app);
    assert.not.ok(events.some(({ state }) => state === 'CRASHED'));
  }
});

/** The server keeps a quarter of its 2,048 connections for silent sockets of one address. */
const MAX_SILENT = 512;

test('2,100 silent sockets of one address leave room for other clients', async () => {
  const { port } = new URL(cloud.url);
  const sockets = Array.from({ length: 2100 }, () => net.connect(Number(port), '127.0.0.1').on('error', () => {}));
  const open = () => sockets.filter(({ readyState }) => readyState === 'open').length;
  try {
    await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
    );
    await until(() => open() <= MAX_SILENT, 'the surplus is closed');
    assert.equal(await Promise.all([0, 1, 2, 3].map(ask)), [0, 1, 2, 3].map(textOf));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test.run();
