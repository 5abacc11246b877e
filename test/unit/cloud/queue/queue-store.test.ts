// The order, the limits and the deletion of stored requests.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type NewRequest, QueueStore } from '../../../../ts/cloud/queue/queue-store.ts';
import { type Database, openDatabase } from '../../../../ts/cloud/store/database.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-queue-'));
let database: Database;
let store: QueueStore;

test.before.each(() => {
  database = openDatabase(fs.mkdtempSync(path.join(folder, 'db-')));
  store = new QueueStore(database);
});
test.after.each(() => database.close());
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const add = (more: Partial<NewRequest> = {}, now = 1000) => {
  const body = Buffer.from('{}');
  return store.add({ org: 'acme', app: 'chat', keyId: 'k', path: '/v1/x', body, webhook: null, ...more }, now);
};
const done = (id: string, size = 2, now = 2000) =>
  store.finish(id, { status: 200, type: 'application/json', body: Buffer.alloc(size) }, now);

test('requests of an app run in their order, and a postponed one lets others pass', () => {
  const [first, second] = [add(), add()];
  add({ org: 'other' });
  assert.equal([store.position(first), store.position(second)], [0, 1]);
  assert.is(store.next('acme', 'chat')?.id, first);
  assert.equal(store.begin(first), { path: '/v1/x', body: Buffer.from('{}') });
  assert.is(store.next('acme', 'chat')?.id, second);
  store.requeue(first, { isAttempt: true, dueAt: 5000 });
  assert.equal([store.next('acme', 'chat', '', 4999)?.id, store.next('acme', 'chat', '', 5000)?.id], [second, first]);
  assert.is(store.next('acme', 'chat')?.attempts, 1);
  store.begin(first);
  store.requeue(first, { isAttempt: false, dueAt: 0 });
  assert.is(store.find(first)?.attempts, 1);
});

test('keys of an app take turns', () => {
  const [a, , c, b] = ['a', 'a', 'c', 'b'].map((keyId) => add({ keyId }));
  const after = (key: string) => store.next('acme', 'chat', key)?.id;
  assert.equal([after(''), after('a'), after('b'), after('c')], [a, b, c, a]);
});

test('interrupted requests wait again; running ones of this process do not', () => {
  const ids = [add(), add(), add()];
  for (const id of ids) store.begin(id);
  done(ids[2] as string);
  store.recover([ids[1] as string]);
  assert.equal(
    ids.map((id) => store.find(id)?.state),
    ['queued', 'running', 'done'],
  );
});

test('the first result counts, and a webhook is due from then on', () => {
  const [plain, called] = [add(), add({ webhook: 'https://example.com/' })];
  assert.equal([done(plain), done(plain), done(called)], [true, false, true]);
  assert.is(store.dueWebhook([], [])?.id, called);
  assert.equal([store.dueWebhook(['acme'], []), store.dueWebhook([], [called])], [undefined, undefined]);
  store.webhookCalled(called, { error: 'no', due: 9000 });
  assert.equal([store.dueWebhook([], [], 8999), store.dueWebhook([], [], 9000)?.webhookAttempts], [undefined, 1]);
});

test('unfinished requests count for their organisation and key', () => {
  add();
  add({ keyId: 'other' });
  done(add());
  add({ org: 'other' });
  assert.equal({ ...store.load('acme', 'k') }, { count: 2, bytes: 4, countOfKey: 1 });
  assert.equal({ ...store.load('none', 'k') }, { count: 0, bytes: 0, countOfKey: 0 });
  assert.equal(store.waitingSince(1001).length, 3);
});

test('old results and the oldest beyond the limits are deleted, unless their webhook is pending', () => {
  const pending = add({ webhook: 'https://example.com/' });
  const ids = [pending, add(), add(), add(), add({ org: 'other' })];
  for (const id of ids) done(id, 10);
  const unfinished = add();
  const left = () => [...ids, unfinished].filter((id) => store.find(id) !== undefined);
  store.deleteResults({ before: 0, count: 2, bytes: 100 });
  assert.equal(left(), [pending, ...ids.slice(2), unfinished]);
  store.deleteResults({ before: 0, count: 9, bytes: 15 });
  assert.equal(left(), [pending, ...ids.slice(3), unfinished]);
  store.deleteResults({ before: 2001, count: 9, bytes: 100 });
  assert.equal(left(), [pending, unfinished]);
});

test.run();
