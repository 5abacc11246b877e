// Requests that come while no runner takes them: they wake the app, wait in a bounded queue, and hear how far it is.
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LiveApp } from '../../ts/cloud/apps/live-app.js';
import { toManifest } from '../../ts/cloud/script/manifest.js';
import {
  CHAT,
  closeGateways,
  codeOf,
  KEY,
  postChat,
  startGateway,
  startRunner,
  TestDeployment,
  socketPath as unusedSocket,
  WITH_KEY,
} from '../support/gateway.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('cloud: the waiting room');

test.after.each(closeGateways);

const soon = { comments: { firstMs: 20, repeatMs: 50 } };

test('a request wakes a sleeping app, waits for its runner, and says for how long', async () => {
  const app = new TestDeployment('acme', 'chat');
  const { runners } = app;
  // Slow enough for clock readings before and after it to differ.
  app.runners = () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    return runners.call(app);
  };
  const gateway = await startGateway([app]);
  const replying = postChat(gateway);
  await until(() => app.demand.queued === 1, 'the app is asked for');
  const { socketPath } = await startRunner();
  app.run(socketPath);
  const reply = await replying;
  assert.is(reply.status, 200);
  assert.ok(Number(reply.headers.get('x-chasqui-cold-start-ms')) > 0);
  assert.is(reply.headers.get('x-chasqui-queue-ms'), '0');
  await reply.text();
  await until(() => app.demand.running === 0, 'it is over');
  assert.equal(app.demands, [
    { running: 0, queued: 1 },
    // The slot is assigned before the request leaves the queue, so the app never appears idle in between.
    { running: 1, queued: 1 },
    { running: 1, queued: 0 },
    { running: 0, queued: 0 },
  ]);
  assert.is(app.listeners, 0);
});

test('a stream that waits is told the progress in comments, and then gets its completion', async () => {
  const app = new TestDeployment('acme', 'chat');
  app.progress = 'fetching weights 43 %';
  const gateway = await startGateway([app], soon);
  const reply = await postChat(gateway, { stream: true });
  assert.is(reply.status, 200);
  assert.is(reply.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const reader = (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  while (!read.includes(': fetching weights 43 %\n\n')) read += (await reader.read()).value ?? '';
  app.progress = 'loading\n\ndata: 7 %';
  while (!read.includes(': loading data: 7 %\n\n')) read += (await reader.read()).value ?? '';
  const { socketPath } = await startRunner();
  app.run(socketPath);
  while (!read.includes('[DONE]')) read += (await reader.read()).value ?? '';
  const { events, done } = readSse(read);
  assert.ok(done);
  assert.is(events.map(({ choices }) => choices[0].delta.content ?? '').join(''), 'Hello!');
});

test('a refusal by the runner after comments is the last frame of the stream', async () => {
  const app = new TestDeployment('acme', 'chat');
  const gateway = await startGateway([app], soon);
  const reply = await postChat(gateway, { stream: true, temperature: 'hot' });
  const { socketPath } = await startRunner();
  app.run(socketPath);
  const text = await reply.text();
  const frame = JSON.parse(text.slice(text.lastIndexOf('data: ') + 6));
  assert.is(frame.error.code, 'invalid_type');
  assert.is(frame.error.param, 'temperature');
  await until(() => gateway.usage.length === 1, 'it is counted');
  assert.is(gateway.usage[0]?.status, 400);
});

test('a request that is not streamed gets no byte while it waits, and then a 503 with Retry-After', async () => {
  const app = new TestDeployment('acme', 'chat');
  app.limits.startMs = 300;
  app.progress = 'loading 7 %';
  const gateway = await startGateway([app], soon);
  const reply = await postChat(gateway);
  assert.is(reply.status, 503);
  assert.is(reply.headers.get('retry-after'), '30');
  const { error } = (await reply.json()) as { error: { code: string; message: string } };
  assert.is(error.code, 'startup_timeout');
  assert.match(error.message, /loading 7 %/);
  assert.equal(app.demand, { running: 0, queued: 0 });
});

test('a stream whose runner does not come in time ends with an error frame', async () => {
  const app = new TestDeployment('acme', 'chat');
  app.limits.startMs = 300;
  const gateway = await startGateway([app], soon);
  const text = await (await postChat(gateway, { stream: true })).text();
  assert.match(text, /^: waiting for a runner\n\n[\s\S]*"code":"startup_timeout"[^\n]*\n\n$/);
});

for (const [path, pattern] of [
  ['/v1/messages', /\nevent: error\ndata: {"type":"error","error":{.*"code":"startup_timeout"/],
  ['/v1/responses', /\nevent: error\ndata: {"type":"error".*"code":"startup_timeout"/],
] as const) {
  test(`${path} has its error frame in its own envelope`, async () => {
    const app = new TestDeployment('acme', 'chat');
    app.limits.startMs = 200;
    const gateway = await startGateway([app], soon);
    const text = await (await postChat(gateway, { stream: true }, { path: `/acme/chat${path}` })).text();
    assert.match(text, pattern);
  });
}

test('a permanent failure is its own 4xx at once, also for those who wait', async () => {
  const app = new TestDeployment('acme', 'chat');
  const gateway = await startGateway([app], soon);
  const waiting = postChat(gateway);
  const streaming = postChat(gateway, { stream: true });
  await until(() => app.demand.queued === 2, 'both wait');
  await streaming;
  app.failure = { code: 'model_file_invalid', message: 'The weights are no GGUF file.' };
  app.changed();
  const replies = [await waiting, await postChat(gateway)];
  for (const reply of replies) {
    assert.is(reply.status, 400);
    assert.is(await codeOf(reply), 'model_file_invalid');
  }
  assert.match(await (await streaming).text(), /"code":"model_file_invalid"[^\n]*\n\n$/);
  assert.equal(app.demand, { running: 0, queued: 0 });
});

test('requests that wait for an app that is deleted are told so', async () => {
  const row = { id: 'app-1', org: 'acme', name: 'chat', active: 1, failure_code: null, failure_message: null };
  const kept = {
    ...row,
    auth: 'private' as const,
    public_with: null,
    scale_min: null,
    scale_max: null,
    deleted: 0,
    created_at: 0,
  };
  const app = new LiveApp(kept, () => {});
  app.activeManifest = toManifest({ model: 'demo', auth: 'private' }, 'chat');
  const gateway = await startGateway([app]);
  const waiting = postChat(gateway);
  await until(() => app.demand.queued === 1, 'it waits');
  app.row = { ...kept, deleted: 1 };
  app.changed();
  const reply = await waiting;
  assert.is(reply.status, 404);
  assert.is(await codeOf(reply), 'app_not_found');
});

test('the queue is bounded, and a client that leaves it makes room', async () => {
  const app = new TestDeployment('acme', 'chat');
  app.limits.requests = 2;
  const gateway = await startGateway([app]);
  const leaving = new AbortController();
  const first = postChat(gateway, {}, { signal: leaving.signal }).catch(() => null);
  const second = postChat(gateway);
  await until(() => app.demand.queued === 2, 'the queue is full');
  const refused = await postChat(gateway);
  assert.is(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.is(await codeOf(refused), 'queue_full');
  leaving.abort();
  await first;
  await until(() => app.demand.queued === 1, 'its place is free');
  const third = postChat(gateway);
  await until(() => app.demand.queued === 2, 'another waits');
  const { socketPath } = await startRunner();
  app.run(socketPath);
  assert.equal([(await second).status, (await third).status], [200, 200]);
});

test('a runner is given twice what it computes at once; the others wait, the longest first', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run({ id: 'r1', socketPath, slots: 1 });
  const gateway = await startGateway([app]);
  const order: number[] = [];
  const replies: Promise<unknown>[] = [];
  for (let number = 0; number < 4; number++) {
    const running = Math.min(number + 1, 2);
    replies.push(
      postChat(gateway, { stream: true })
        .then((reply) => reply.text())
        .then(() => order.push(number)),
    );
    await until(
      () => app.demand.running === running && app.demand.queued === number + 1 - running,
      'it is in its place',
    );
  }
  assert.is(engine.jobs.length, 2);
  while (order.length < 4) {
    engine.step();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(order.slice(2), [2, 3]);
  await Promise.all(replies);
  await until(() => app.demand.running + app.demand.queued === 0, 'nothing is left');
});

test('a request that lost its runner still counts when another one comes and leaves', async () => {
  const app = new TestDeployment('acme', 'chat').run(unusedSocket());
  const gateway = await startGateway([app]);
  const first = postChat(gateway);
  await until(() => app.failures.length === 1 && app.demand.queued === 1, 'it waits for another runner');
  app.run();
  const leaving = new AbortController();
  const second = postChat(gateway, {}, { signal: leaving.signal }).catch(() => null);
  await until(() => app.demand.queued === 2, 'both wait');
  leaving.abort();
  await second;
  await until(() => gateway.usage.length === 1, 'the second has left');
  assert.equal(app.demand, { running: 0, queued: 1 });
  const { socketPath } = await startRunner();
  app.run({ id: 'r2', socketPath });
  assert.is((await first).status, 200);
});

test('a request whose body comes slowly counts beside those that come and go meanwhile', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  const finish = async (reply: Promise<Response>) => {
    await until(() => engine.running.size > 0, 'it is computed');
    await until(() => {
      engine.step();
      return engine.running.size === 0;
    }, 'it is computed to its end');
    await (await reply).text();
  };
  const body = JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hi' }], stream: true });
  const socket = net.connect(gateway.port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  const fields = `Host: x\r\nAuthorization: Key ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.write(`POST ${CHAT} HTTP/1.1\r\n${fields}\r\n\r\n{`);
  await new Promise<void>((resolve) => gateway.server.once('request', () => resolve()));
  await finish(postChat(gateway));
  await until(() => app.demand.running === 0, 'the second is over');
  const third = postChat(gateway);
  await until(() => app.demand.running === 1, 'the third is computed');
  socket.write(body.slice(1));
  await until(() => app.demand.running === 2, 'both are computed');
  socket.destroy();
  await finish(third);
});

test('the status of an app is told without waking it', async () => {
  const app = new TestDeployment('acme', 'chat');
  const gateway = await startGateway([app]);
  const status = async () => (await fetch(`${gateway.url}/acme/chat/status`, { headers: WITH_KEY })).json();
  const rest = { org: 'acme', app: 'chat', revision: 1, running: 0, queued: 0, progress: null, failure: null };
  assert.equal(await status(), { ...rest, state: 'asleep', runners: 0 });
  assert.equal(app.demands, []);
  const replying = postChat(gateway);
  await until(() => app.demand.queued === 1, 'it is asked for');
  assert.equal(await status(), { ...rest, state: 'starting', runners: 0, queued: 1 });
  const { socketPath } = await startRunner();
  app.run(socketPath);
  await (await replying).text();
  assert.equal(await status(), { ...rest, state: 'ready', runners: 1 });
  app.run();
  app.failure = { code: 'model_file_missing', message: 'There is no such file.' };
  assert.equal(await status(), { ...rest, state: 'failed', runners: 0, failure: app.failure });
  const posted = await fetch(`${gateway.url}/acme/chat/status`, { method: 'POST', headers: WITH_KEY });
  assert.equal([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
});

test('an app is woken without a request, until it has a runner', async () => {
  const app = new TestDeployment('acme', 'chat');
  const gateway = await startGateway([app]);
  const wake = () => fetch(`${gateway.url}/acme/chat/wake`, { method: 'POST', headers: WITH_KEY });
  const reply = await wake();
  assert.is(reply.status, 202);
  assert.is(((await reply.json()) as { state: string }).state, 'starting');
  await wake();
  assert.equal(app.demands, [{ running: 0, queued: 1 }]);
  const { socketPath } = await startRunner();
  app.run(socketPath);
  assert.equal(app.demand, { running: 0, queued: 0 });
  assert.is(app.listeners, 0);
  assert.is((await wake()).status, 202);
  assert.equal(app.demand, { running: 0, queued: 0 });
  assert.is((await fetch(`${gateway.url}/acme/chat/wake`, { method: 'POST' })).status, 401);
});

test('a call that wakes in vain does so no longer than a request would wait', async () => {
  const app = new TestDeployment('acme', 'chat');
  app.limits.startMs = 100;
  const gateway = await startGateway([app]);
  await fetch(`${gateway.url}/acme/chat/wake`, { method: 'POST', headers: WITH_KEY });
  await until(() => app.demands.length === 2, 'it gives up');
  assert.equal(app.demand, { running: 0, queued: 0 });
});

test.run();
