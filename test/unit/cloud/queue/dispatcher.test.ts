// Running stored requests through a gateway: refusals, failures, and places for waiting clients.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Gateway } from '../../../../ts/cloud/gateway/gateway.ts';
import { Dispatcher } from '../../../../ts/cloud/queue/dispatcher.ts';
import { QueueStore } from '../../../../ts/cloud/queue/queue-store.ts';
import { TicketRing } from '../../../../ts/cloud/queue/ticket-ring.ts';
import { openDatabase } from '../../../../ts/cloud/store/database.ts';
import { closeGateways, cloudKey, startRawRunner, TestDeployment } from '../../../support/gateway.ts';
import { until } from '../../../support/until.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-dispatcher-'));
const cleanups: (() => unknown)[] = [];

test.after.each(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await closeGateways();
});
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

async function start(replies: (index: number) => string | null, slots = 1) {
  let count = 0;
  const runner = await startRawRunner((socket) => {
    const reply = replies(count++);
    if (reply !== null) socket.end(reply);
  });
  const app = new TestDeployment('acme', 'chat').run({ id: 'r1', socketPath: runner.socketPath, slots });
  const keys = new Map([
    ['k1', cloudKey()],
    ['k2', cloudKey()],
  ]);
  const tickets = new TicketRing({ check: () => null, checkId: (id) => keys.get(id) ?? null });
  const directory = { find: () => app };
  const usage = { add: () => undefined, progress: () => undefined };
  const gateway = new Gateway({ directory, keys: tickets, usage }, { keyCheckMs: 20 });
  const database = openDatabase(fs.mkdtempSync(path.join(folder, 'db-')));
  const store = new QueueStore(database);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const dispatcher = new Dispatcher({ store, gateway, directory, tickets, onError, onDone: () => undefined });
  cleanups.push(async () => {
    await dispatcher.close();
    await gateway.close(0);
    database.close();
    assert.equal(errors, []);
  });
  const submit = (keyId = 'k1') => {
    const body = Buffer.from('{}');
    const id = store.add({ org: 'acme', app: 'chat', keyId, path: '/v1/chat/completions', body, webhook: null });
    dispatcher.dispatch('acme', 'chat');
    return id;
  };
  const untilDone = (id: string) => until(() => store.find(id)?.state === 'done', 'the result');
  return { store, dispatcher, submit, untilDone, keys, runner };
}

const json = (status: number, body: string, head = '') =>
  `HTTP/1.1 ${status} x\r\ncontent-type: application/json\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;

for (const [size, parts] of [
  ['small', ['{"a":', '[1,2,', '3]}']],
  // The gateway reads it in several parts, and passes later parts to clients without their `ServerResponse`.
  ['large', ['"', ...Array.from({ length: 10 }, (_, part) => String(part).repeat(50_000)), '"']],
] as const) {
  test(`a ${size} reply in chunks is stored completely`, async () => {
    const chunks = parts.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('');
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const { submit, untilDone, store } = await start(() => `${head}${chunks}0\r\n\r\n`);
    const id = submit();
    await untilDone(id);
    assert.ok(store.result(id).equals(Buffer.from(parts.join(''))));
    assert.is(store.find(id)?.status, 200);
  });
}

test('a refusal is no attempt; other server errors are, and the fifth is the result', async () => {
  const busy = json(429, '{"error":{"code":"queue_full"}}', 'retry-after: 0\r\n');
  const { submit, untilDone, store, dispatcher } = await start((index) =>
    index < 2 ? busy : json(500, '{"error":{}}'),
  );
  const id = submit();
  const attempts = (count: number) => {
    const { attempts: made, state } = store.find(id) ?? {};
    return made === count && state !== 'running';
  };
  await until(() => attempts(1), 'the first failure');
  for (let attempt = 2; attempt <= 5; attempt++) {
    // Ends the pause.
    store.begin(id);
    store.requeue(id, { isAttempt: false, dueAt: 0 });
    dispatcher.dispatch('acme', 'chat');
    await until(() => attempts(attempt), `attempt ${attempt}`);
  }
  await untilDone(id);
  assert.is(store.find(id)?.status, 500);
});

test('a request that has waited for 24 hours fails; a running one does not', async () => {
  const { store, dispatcher, submit, runner } = await start(() => null);
  const [running, waiting] = [submit(), submit()];
  await until(() => runner.requests.length === 1, 'the request at the runner');
  const states = () => [running, waiting].map((id) => store.find(id)?.state);
  const limit = (store.find(waiting)?.createdAt ?? 0) + 24 * 3_600_000;
  dispatcher.tick(limit);
  assert.equal(states(), ['running', 'queued']);
  dispatcher.tick(limit + 1);
  assert.equal(states(), ['running', 'done']);
  assert.match(store.result(waiting).toString(), /"code":"time_limit_exceeded"/);
});

test('a key with many requests does not delay those of another key', async () => {
  const { store, dispatcher, submit, runner } = await start(() => null);
  const [first = '', second = '', third = ''] = [submit('k1'), submit('k1'), submit('k1')];
  const other = submit('k2');
  for (const [started, id] of [first, other, second, third].entries()) {
    await until(() => runner.requests.length === started + 1, `request ${started} at the runner`);
    assert.is(store.find(id)?.state, 'running');
    dispatcher.cancel(id);
  }
});

test('stopping the process is no attempt', async () => {
  const { store, dispatcher, submit, runner } = await start(() => null);
  const id = submit();
  await until(() => runner.requests.length === 1, 'the request at the runner');
  await dispatcher.close();
  assert.equal([store.find(id)?.state, store.find(id)?.attempts], ['queued', 0]);
});

test('a request that was interrupted five times fails for good', async () => {
  const { store, dispatcher } = await start(() => null);
  const body = Buffer.from('{}');
  const id = store.add({ org: 'acme', app: 'chat', keyId: 'k1', path: '/v1/x', body, webhook: null });
  for (let crash = 0; crash < 5; crash++) {
    store.begin(id);
    store.recover([]);
  }
  dispatcher.tick();
  assert.is(store.find(id)?.state, 'done');
  assert.match(store.result(id).toString(), /"code":"runner_failed"/);
});

test('no more requests run than the runners have slots, and a cancelled one leaves its place', async () => {
  const { store, dispatcher, submit, runner } = await start(() => null, 2);
  const ids = [submit(), submit(), submit()];
  const states = () => ids.map((id) => store.find(id)?.state);
  await until(() => runner.requests.length === 2, 'two requests at the runner');
  assert.equal(states(), ['running', 'running', 'queued']);
  assert.equal([dispatcher.cancel(ids[0] as string), dispatcher.cancel(ids[0] as string)], [true, false]);
  await until(() => runner.requests.length === 3, 'the third request');
  assert.equal(states(), ['done', 'running', 'running']);
});

test('a request whose key was revoked fails with 401, also while it runs', async () => {
  const { store, submit, untilDone, keys, runner } = await start(() => null);
  const [running, waiting] = [submit(), submit()];
  await until(() => runner.requests.length === 1, 'the request at the runner');
  keys.clear();
  for (const id of [running, waiting]) {
    await untilDone(id);
    assert.is(store.find(id)?.status, 401);
  }
});

test.run();
