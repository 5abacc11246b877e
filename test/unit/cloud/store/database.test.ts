import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Fastify from 'fastify';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirmChanges } from '../../../../ts/cloud/store/confirm-changes.ts';
import { openDatabase } from '../../../../ts/cloud/store/database.ts';
import { ChasquiError } from '../../../../ts/errors.ts';
import { until } from '../../../support/until.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-store-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

let count = 0;
const newFolder = () => path.join(folder, String(count++));
const THINGS = ['CREATE TABLE things (name TEXT PRIMARY KEY) STRICT'];

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    return error instanceof ChasquiError ? error.code : String(error);
  }
}

test('the folder and the file are for their owner alone', () => {
  const home = newFolder();
  openDatabase(home).close();
  assert.is(fs.statSync(home).mode & 0o777, 0o700);
  assert.is(fs.statSync(path.join(home, 'cloud.db')).mode & 0o777, 0o600);
});

test('commits do not wait for the disk, and `synced` waits for the log only after a write', async () => {
  const database = openDatabase(newFolder());
  assert.is(database.get<{ synchronous: number }>('PRAGMA synchronous')?.synchronous, 1);
  database.migrate('a', THINGS);
  await database.synced();
  const log = `${database.file}-wal`;
  fs.renameSync(log, `${log}.moved`);
  await database.synced();
  database.run("INSERT INTO things (name) VALUES ('x')");
  const failure = await database.synced().catch((error: unknown) => error);
  assert.is((failure as ChasquiError).code, 'cloud_store_failed');
  fs.renameSync(`${log}.moved`, log);
  await database.synced();
  database.close();
});

test('a long log is copied to the file on another thread, and starts again', async () => {
  const database = openDatabase(newFolder());
  database.migrate('a', ['CREATE TABLE blobs (body BLOB) STRICT']);
  const add = (bytes: number) => database.run('INSERT INTO blobs VALUES (?)', [Buffer.alloc(bytes)]);
  add(8_000_000);
  const sizeOf = (file: string) => fs.statSync(file).size;
  assert.ok(sizeOf(database.file) < 1_000_000);
  await until(() => sizeOf(database.file) > 8_000_000, 'the checkpoint');
  await until(() => {
    add(1);
    return sizeOf(`${database.file}-wal`) <= 4_096_000;
  }, 'the end of the long log');
  database.close();
});

test('the reply to a change waits until it is on the disk', async () => {
  const api = Fastify();
  const waits: ((error?: Error) => void)[] = [];
  const synced = () =>
    new Promise<void>((resolve, reject) => waits.push((error) => (error ? reject(error) : resolve())));
  confirmChanges(api, [{ synced }]);
  api.get('/', async () => 'read');
  api.post('/', async () => 'changed');
  api.post('/refused', async (_request, reply) => reply.code(400).send('refused'));
  assert.is((await api.inject('/')).body, 'read');
  assert.is((await api.inject({ method: 'POST', url: '/refused' })).body, 'refused');
  assert.is(waits.length, 0);
  for (const [error, status] of [
    [undefined, 200],
    [new Error('full'), 500],
  ] as const) {
    let isAnswered = false;
    const reply = api.inject({ method: 'POST', url: '/' }).finally(() => {
      isAnswered = true;
    });
    await until(() => waits.length === 1, 'the wait for the disk');
    await new Promise(setImmediate);
    assert.is(isAnswered, false);
    waits.pop()?.(error);
    assert.is((await reply).statusCode, status);
  }
  await api.close();
});

test('each step of a migration is taken once, those of several rooms apart', () => {
  const home = newFolder();
  const first = openDatabase(home);
  first.migrate('a', THINGS);
  first.migrate('a', THINGS);
  first.migrate('b', ['CREATE TABLE others (name TEXT) STRICT']);
  first.close();
  const second = openDatabase(home);
  second.migrate('a', [...THINGS, 'ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7']);
  second.run('INSERT INTO things (name) VALUES (?)', ['x']);
  assert.is(second.get<{ size: number }>('SELECT size FROM things')?.size, 7);
  assert.is(
    codeOf(() => second.migrate('a', THINGS)),
    'cloud_store_failed',
  );
  second.close();
});

test('a migration that fails leaves nothing behind', () => {
  const database = openDatabase(newFolder());
  assert.is(
    codeOf(() => database.migrate('a', [...THINGS, 'CREATE NONSENSE'])),
    'cloud_store_failed',
  );
  assert.is(
    codeOf(() => database.all('SELECT * FROM things')),
    'cloud_store_failed',
  );
  database.migrate('a', THINGS);
  database.close();
});

test('a transaction is undone when its action throws, with those inside it', () => {
  const database = openDatabase(newFolder());
  database.migrate('a', THINGS);
  const add = (name: string) => database.run('INSERT INTO things (name) VALUES (?)', [name]);
  assert.throws(() =>
    database.transaction(() => {
      database.transaction(() => add('x'));
      throw new Error('no');
    }),
  );
  assert.equal(database.all('SELECT * FROM things'), []);
  database.transaction(() => add('y'));
  assert.equal(database.all('SELECT * FROM things'), [{ name: 'y' }]);
  database.close();
});

test('values are bound anew each time', () => {
  const database = openDatabase(newFolder());
  database.migrate('a', THINGS);
  for (const name of ['x', 'y']) database.run('INSERT INTO things (name) VALUES (?)', [name]);
  const find = (name: string) => database.get('SELECT name FROM things WHERE name = ?', [name]);
  assert.equal([find('y'), find('x'), find('z')], [{ name: 'y' }, { name: 'x' }, undefined]);
  database.close();
});

test('the version changes with what this connection and others write', () => {
  const home = newFolder();
  const [mine, other] = [openDatabase(home), openDatabase(home)];
  mine.migrate('a', THINGS);
  const versions = [mine.version()];
  assert.is(mine.version(), versions[0]);
  other.run("INSERT INTO things (name) VALUES ('x')");
  versions.push(mine.version());
  mine.run("INSERT INTO things (name) VALUES ('y')");
  versions.push(mine.version());
  assert.is(new Set(versions).size, 3);
  mine.close();
  other.close();
});

test('a file that is no database is named', () => {
  const home = newFolder();
  fs.mkdirSync(home);
  fs.writeFileSync(path.join(home, 'cloud.db'), 'x'.repeat(5000));
  assert.is(
    codeOf(() => openDatabase(home)),
    'cloud_store_failed',
  );
});

test('a closed database has nothing in its write-ahead log', () => {
  const database = openDatabase(newFolder());
  database.migrate('tests', ['CREATE TABLE kept (id TEXT)']);
  database.run("INSERT INTO kept VALUES ('a')");
  database.close();
  const log = `${database.file}-wal`;
  assert.is(fs.existsSync(log) ? fs.statSync(log).size : 0, 0);
});

test.run();
