import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { ModelEvents } from '../../ts/models/model-events.js';
import type { ManagedSource } from '../../ts/models/model-source.js';
import type { ModelEntry, ModelPool } from '../../ts/models/pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { FakeEngine } from '../support/fake-engine.js';
import { until } from '../support/until.js';

const test = suite('http: the events of models');

type Listening = { url: string; port: number; pool: ManagedPool; close(): Promise<void> };

async function listening(): Promise<Listening> {
  const sourceOf = (id: string): ManagedSource => ({
    id,
    aliases: [],
    sizeBytes: 8,
    estimatedBytes: 10,
    open: async ({ onProgress }) => {
      if (id === 'bad') throw new Error('/secret/path');
      for (const fraction of [0.5, 0.501, 1]) onProgress?.(fraction);
      return { engine: new FakeEngine({ model: { id } }), measure: () => 10 };
    },
  });
  const pool = new ManagedPool(['good', 'bad'].map(sourceOf));
  await pool.start([]);
  const app = buildApp(pool, runtime, { drainMs: 60_000 });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, port: Number(new URL(url).port), pool, close: () => app.close() };
}

/** Reads events until there are as many. */
async function* eventsOf(reply: Response) {
  let text = '';
  const reader = (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) if (frame.startsWith('data: ')) yield JSON.parse(frame.slice('data: '.length));
  }
}

async function take<T>(events: AsyncGenerator<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) taken.push((await events.next()).value as T);
  return taken;
}

test('first the state of each model, then each change, in the form of llama-server', async () => {
  const { url, pool, close } = await listening();
  const reply = await fetch(`${url}/models/sse`);
  assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events = eventsOf(reply);
  const state = (model: string, data: object) => ({ model, event: 'model_status', data });
  const loading = (value: number) => ({
    status: 'loading',
    progress: { stages: ['text_model'], current: 'text_model', value },
  });
  assert.equal(await take(events, 2), [state('good', { status: 'unloaded' }), state('bad', { status: 'unloaded' })]);
  pool.load('good');
  assert.equal(await take(events, 4), [
    state('good', loading(0)),
    state('good', loading(0.5)),
    state('good', loading(1)),
    state('good', { status: 'loaded' }),
  ]);
  pool.unload('good');
  assert.equal(await take(events, 1), [state('good', { status: 'unloaded' })]);
  pool.load('bad');
  const [, failed] = await take(events, 2);
  assert.is(failed.data.status, 'failed');
  assert.match(failed.data.reason, /See the server's log/);
  assert.not.match(failed.data.reason, /secret/);
  await close();
});

test('HEAD is refused, because the events have no end', async () => {
  const { url, close } = await listening();
  const reply = await fetch(`${url}/models/sse`, { method: 'HEAD', signal: AbortSignal.timeout(60_000) });
  assert.equal([reply.status, reply.headers.get('allow')], [405, 'GET']);
  await close();
});

test('an engine that is started again is loading meanwhile, and says why; one that is given up has failed', async () => {
  const engine = new FakeEngine({ model: { id: 'good' } });
  let tell = () => {};
  const pool = new ManagedPool([
    {
      id: 'good',
      aliases: [],
      sizeBytes: 8,
      estimatedBytes: 10,
      open: async ({ onState = () => {} }) => {
        tell = onState;
        return { engine, measure: () => 10 };
      },
    },
  ]);
  await pool.start(['good']);
  const app = buildApp(pool, runtime);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const events = eventsOf(await fetch(`${url}/models/sse`));
  await take(events, 1);
  for (const next of ['restarting', 'ready', 'restarting', 'failed'] as const) {
    engine.state = next;
    tell();
  }
  const told = await take(events, 4);
  assert.equal(
    told.map(({ data }) => data.status),
    ['loading', 'loaded', 'loading', 'failed'],
  );
  assert.match(told[0].data.reason, /See the server's log/);
  assert.is(told[1].data.reason, undefined);
  await app.close();
});

test('the stream ends at once when the server stops, and its reader is forgotten when it leaves', async () => {
  const { url, pool, close } = await listening();
  let listeners = 0;
  const onEvent = pool.onEvent.bind(pool);
  pool.onEvent = (listener) => {
    listeners += 1;
    const stop = onEvent(listener);
    return () => {
      listeners -= 1;
      stop();
    };
  };
  const leaves = new AbortController();
  await take(eventsOf(await fetch(`${url}/models/sse`, { signal: leaves.signal })), 2);
  const stays = eventsOf(await fetch(`${url}/models/sse`));
  await take(stays, 2);
  assert.is(listeners, 2);
  leaves.abort();
  await until(() => listeners === 1, 'the one that left to be forgotten');
  // It would wait a minute for replies that are computed.
  const closing = close();
  assert.is((await stays.next()).done, true);
  await closing;
});

test('a reader that does not read is cut off', async () => {
  const told = new ModelEvents();
  const entry = (reason: string): ModelEntry => ({
    id: 'x'.repeat(1000),
    aliases: [],
    parent: null,
    status: reason === 'a' ? 'loading' : 'failed',
    created: 0,
    progress: null,
    sizeBytes: null,
    reason,
    memoryBytes: null,
    pid: null,
    preparationPid: null,
    running: 0,
    waiting: 0,
    expiresAt: null,
    pinned: false,
    engine: null,
    lastModel: null,
  });
  const pool: ModelPool = {
    isReady: true,
    list: () => [entry('a')],
    acquire: () => Promise.reject(new Error('not asked for')),
    load: () => {},
    unload: () => {},
    onEvent: (listener) => told.watch(listener),
  };
  const app = buildApp(pool, runtime);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = net.connect((app.server.address() as net.AddressInfo).port, '127.0.0.1');
  socket.write('GET /models/sse HTTP/1.1\r\nHost: localhost\r\n\r\n');
  socket.pause();
  let sockets = 0;
  const count = () => app.server.getConnections((_error, open) => (sockets = open));
  await until(() => {
    count();
    return sockets === 1;
  }, 'the connection');
  // The kernel's own buffers have to be full before anything waits in the server.
  await until(() => {
    for (let each = 0; each < 500; each += 1) for (const reason of ['a', 'b']) told.tell(entry(reason));
    count();
    return sockets === 0;
  }, 'the connection to be cut off');
  socket.destroy();
  await app.close();
});

test.run();
