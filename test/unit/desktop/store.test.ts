import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppEvents, MetricsPoint, RequestRow } from '../../../ts/desktop/api-types.js';
import { DesktopLog } from '../../../ts/desktop/desktop-log.js';
import { EventBus } from '../../../ts/desktop/event-bus.js';
import { Store } from '../../../ts/desktop/store/database.js';
import { MetricsHistory, toCsv } from '../../../ts/desktop/store/metrics-history.js';
import { MIGRATIONS } from '../../../ts/desktop/store/migrations.js';
import { RequestHistory } from '../../../ts/desktop/store/request-history.js';
import { SettingsStore } from '../../../ts/desktop/store/settings.js';

const data = suite('what the app keeps');
let folder = '';

data.before.each(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chasqui-store-'));
});

data.after.each(() => rmSync(folder, { recursive: true, force: true }));

data('a database is made step by step, once', () => {
  const store = Store.open(folder);
  assert.equal(store.rows('PRAGMA user_version'), [{ user_version: MIGRATIONS.length }]);
  store.run("INSERT INTO settings VALUES ('a', '1')");
  store.close();
  const again = Store.open(folder);
  assert.equal(again.rows('SELECT * FROM settings'), [{ name: 'a', value: '1' }]);
  again.close();
});

data('one of a newer version, and one that is none, are left alone and named', () => {
  const store = Store.open(folder);
  store.run(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  store.close();
  assert.throws(() => Store.open(folder), /desktop\.db: it was written by a newer version of chasqui/);
  writeFileSync(path.join(folder, 'desktop.db'), 'this is no database, and must not become one'.repeat(100));
  assert.throws(() => Store.open(folder), /Cannot use the app.s database .*desktop\.db/);
});

data('settings outlast the process, and the token of the hub is not shown', () => {
  const store = Store.open(folder);
  const settings = new SettingsStore(store);
  assert.is(settings.current.port, 1234);
  settings.change({ port: 4321, hubToken: 'hf_secret', modelFolders: ['/models'] });
  const token = settings.own('token', () => 'one');
  const again = new SettingsStore(store);
  assert.is(again.current.port, 4321);
  assert.is(again.hubToken, 'hf_secret');
  assert.is(
    again.own('token', () => 'two'),
    token,
  );
  assert.not.match(JSON.stringify(again.current), /hf_secret|one/);
  assert.ok(again.current.hasHubToken);
  again.change({ hubToken: null });
  assert.not.ok(new SettingsStore(store).current.hasHubToken);
  store.close();
});

function row(id: string, at: number): RequestRow {
  return {
    id,
    at,
    endpoint: '/v1/chat/completions',
    model: 'm',
    requested: null,
    state: 'done',
    prefill: 1,
    promptTokens: 1,
    cachedTokens: 0,
    completionTokens: 2,
    tokensPerSecond: null,
    ttftMs: null,
    durationMs: 1,
    status: 200,
    error: null,
    client: 'test',
  };
}

data('requests of the last day are kept, the newest first, and not more than ten thousand', () => {
  const store = Store.open(folder);
  const history = new RequestHistory(store);
  const now = Date.now();
  history.add(row('old', now - 25 * 3600 * 1000));
  for (let number = 0; number < 10_100; number += 1) history.add(row(`r${number}`, now + number));
  assert.is(history.list(1)[0]?.id, 'r10099');
  history.close();
  const later = new RequestHistory(store);
  for (let number = 10_100; number < 10_150; number += 1) later.add(row(`r${number}`, now + number));
  later.close();
  assert.equal(store.rows('SELECT count(*) AS count FROM requests'), [{ count: 10_000 }]);
  assert.equal(
    new RequestHistory(store).list(2).map(({ id }) => id),
    ['r10149', 'r10148'],
  );
  assert.not.ok(new RequestHistory(store).list(20_000).some(({ id }) => id === 'old'));
  store.close();
});

function point(at: number): MetricsPoint {
  return {
    at,
    tokensPerSecond: 1.5,
    ttftP50: null,
    ttftP95: 20,
    running: 1,
    queued: 0,
    kvUsage: 0.25,
    memoryBytes: 1000,
  };
}

data('points of the last hour are kept, and written as a table', () => {
  const store = Store.open(folder);
  const history = new MetricsHistory(store);
  const now = Date.now();
  for (const ago of [7200, 3599, 10, 1]) history.add(point(now - ago * 1000));
  history.close();
  const again = new MetricsHistory(store);
  assert.is(again.list(3600).length, 3);
  assert.is(again.list(60).length, 2);
  assert.equal(again.list(5), [point(now - 1000)]);
  const csv = toCsv([point(0)]);
  assert.is(
    csv,
    'time,tokens_per_second,ttft_p50_ms,ttft_p95_ms,running,queued,kv_usage,memory_bytes\n' +
      '1970-01-01T00:00:00.000Z,1.5,,20,1,0,0.25,1000\n',
  );
  store.close();
});

data('what a full file has no room for stays in memory, and is written when there is some', () => {
  const store = Store.open(folder);
  const [requests, points] = [new RequestHistory(store), new MetricsHistory(store)];
  const now = Date.now();
  // SQLite takes no less than there is now.
  store.rows('PRAGMA max_page_count = 1');
  for (let number = 0; number < 3000; number += 1) {
    requests.add(row(`r${number}`, now + number));
    points.add({ ...point(now - number), memoryBytes: number });
  }
  requests.close();
  points.close();
  assert.equal([requests.list(5000).length, points.list(3600).length], [3000, 3000]);
  const written = [new RequestHistory(store).list(5000).length, new MetricsHistory(store).list(3600).length];
  assert.ok(
    written.every((count) => count < 3000),
    `${written} are written`,
  );
  store.rows('PRAGMA max_page_count = 100000');
  requests.close();
  points.close();
  assert.equal(
    [new RequestHistory(store).list(5000).length, new MetricsHistory(store).list(3600).length],
    [3000, 3000],
  );
  store.close();
});

data(
  'settings that a full file has no room for stay as they were, and what the app keeps for itself is no error',
  () => {
    const store = Store.open(folder);
    const settings = new SettingsStore(store);
    store.rows('PRAGMA max_page_count = 1');
    const large = 'x'.repeat(100_000);
    assert.throws(() => settings.change({ port: 4321, modelFolders: [large] }), /desktop\.db: .*full/);
    assert.equal([settings.current.port, settings.current.modelFolders], [1234, []]);
    settings.keep('speeds', [large]);
    assert.equal(settings.kept('speeds'), [large]);
    store.close();
  },
);

data('the log is kept in files, the oldest of which is dropped, and read again by the next process', () => {
  const events = new EventBus();
  const told: AppEvents['log'][] = [];
  events.subscribe((event) => event.name === 'log' && told.push(event.data));
  const log = new DesktopLog(folder, events);
  const text = 'x'.repeat(64 * 1024);
  for (let number = 0; number < 350; number += 1) log.say('info', `${number} ${text}`);
  assert.is(told.length, 350);
  const files = readdirSync(path.join(folder, 'logs')).sort();
  assert.equal(files, ['desktop.log', 'desktop.log.1', 'desktop.log.2', 'desktop.log.3']);
  for (const file of files) {
    const { size, mode } = statSync(path.join(folder, 'logs', file));
    assert.ok(size < 5 * 2 ** 20, `${file} has ${size} bytes`);
    assert.is(mode & 0o777, 0o600);
  }
  writeFileSync(
    path.join(folder, 'logs', 'desktop.log'),
    `${readFileSync(path.join(folder, 'logs', 'desktop.log'))}{"at":1,"lev`,
  );
  const last = new DesktopLog(folder, events).list(1)[0];
  assert.match(last?.message ?? '', /^349 /);
});

data("lines of a server's log are made of its fields, and those that nobody wants are left out", () => {
  const log = new DesktopLog(folder, new EventBus());
  const options = log.forServer(
    () => true,
    ({ path: asked }) => asked === '/live',
  );
  assert.ok(options.prompts);
  const head = {
    level: 'info',
    time: '2026-01-02T03:04:05.000Z',
    msg: 'request',
    id: 'req_1',
    method: 'GET',
    status: 200,
  };
  options.write(JSON.stringify({ ...head, path: '/live' }));
  options.write(JSON.stringify({ ...head, path: '/v1/models', duration_ms: 3 }));
  options.write(
    JSON.stringify({ level: 'error', time: head.time, msg: 'request failed', id: 'req_2', err: { message: 'why' } }),
  );
  assert.equal(log.list(10), [
    {
      at: Date.parse(head.time),
      level: 'info',
      message: 'GET /v1/models 200',
      request: 'req_1',
      fields: { method: 'GET', status: 200, path: '/v1/models', duration_ms: 3 },
    },
    { at: Date.parse(head.time), level: 'error', message: 'request failed: why', request: 'req_2' },
  ]);
});

data.run();
