import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Libsql from 'libsql';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { KeyStore, type NewKeySettings } from '../../../ts/keys/key-store.js';

const test = suite<{ folder: string; keys: KeyStore }>('unit: the key store');

test.before.each((context) => {
  context.folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-')), 'home');
  context.keys = KeyStore.open(context.folder);
});

test.after.each(({ folder, keys }) => {
  keys.close();
  fs.rmSync(path.dirname(folder), { recursive: true });
});

test('a key opens the deployments of its organisation, one without any opens all', ({ keys }) => {
  const acme = keys.create({ org: 'acme' });
  const any = keys.create();
  assert.equal(
    [keys.admits(acme.key, 'acme'), keys.admits(acme.key, 'other'), keys.admits(any.key, 'other')],
    [true, false, true],
  );
});

test('nothing but the key itself will do', ({ keys }) => {
  const { id, key } = keys.create();
  const other = keys.create();
  const secret = key.slice(id.length + 1);
  const wrong = [
    '',
    id,
    secret,
    `${id}:`,
    `${id}:${secret}x`,
    `${id}:${secret.slice(1)}`,
    ` ${key}`,
    `${key}\n`,
    `${other.id}:${secret}`,
    `0000000000000000:${secret}`,
    `' OR 1=1 --:${secret}`,
  ];
  for (const attempt of wrong) assert.not.ok(keys.admits(attempt, 'acme'), attempt);
  assert.ok(keys.admits(key, 'acme'));
});

test('without waiting for the disk, `synced` waits for the log of keys', async ({ folder }) => {
  const keys = KeyStore.open(folder, { waitsForDisk: false });
  await keys.synced();
  keys.create();
  const log = path.join(folder, 'chasqui.db-wal');
  fs.renameSync(log, `${log}.moved`);
  const failure = await keys.synced().catch((error: unknown) => error);
  assert.is((failure as ChasquiError).code, 'key_store_failed');
  fs.renameSync(`${log}.moved`, log);
  await keys.synced();
  keys.close();
});

test('two keys have nothing in common', ({ keys }) => {
  const made = Array.from({ length: 100 }, () => keys.create());
  assert.is(new Set(made.map(({ id }) => id)).size, 100);
  assert.is(new Set(made.map(({ key }) => key.split(':')[1])).size, 100);
  for (const { key } of made) assert.match(key, /^[0-9a-f]{16}:[\w-]{43}$/);
});

test('revoking counts at once, for everyone who has the file open, and once', ({ folder, keys }) => {
  const { id, key } = keys.create();
  const elsewhere = KeyStore.open(folder);
  assert.ok(elsewhere.admits(key, 'acme'));
  const revoked = keys.revoke(id);
  assert.type(revoked?.revokedAt, 'number');
  assert.not.ok(elsewhere.admits(key, 'acme'));
  assert.equal(elsewhere.revoke(id), revoked);
  assert.is(keys.revoke('nobody'), null);
  elsewhere.close();
});

test('the list is in order and has no secrets', ({ keys }) => {
  const first = keys.create({ name: 'laptop', org: 'acme' });
  const second = keys.create({ org: 'other' });
  const third = keys.create();
  assert.equal(
    keys
      .list()
      .map(({ id }) => id)
      .sort(),
    [first.id, second.id, third.id].sort(),
  );
  assert.equal(
    keys
      .list({ org: 'acme' })
      .map(({ id }) => id)
      .sort(),
    [first.id, third.id].sort(),
  );
  const [entry] = keys.list({ org: 'acme' }).filter(({ id }) => id === first.id);
  assert.equal(Object.keys(entry ?? {}).sort(), [
    ...['app', 'createdAt', 'expiresAt', 'id', 'lastUsedAt', 'limits', 'name', 'org', 'revokedAt', 'scopes'],
  ]);
  assert.equal([entry?.name, entry?.org, entry?.revokedAt], ['laptop', 'acme', null]);
});

test('the secret is in no file, and the files are for this account only', ({ folder, keys }) => {
  const { key } = keys.create();
  const secret = key.split(':')[1] as string;
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name);
    assert.not.ok(fs.readFileSync(file).includes(secret), name);
    if (process.platform !== 'win32') assert.is(fs.statSync(file).mode & 0o077, 0, name);
  }
  if (process.platform !== 'win32') assert.is(fs.statSync(folder).mode & 0o077, 0);
});

test('keys outlast the process that made them', ({ folder, keys }) => {
  const { key } = keys.create();
  keys.close();
  const reopened = KeyStore.open(folder);
  assert.ok(reopened.admits(key, 'acme'));
  reopened.close();
});

test('a key may be for one app only, expire, and not be for calling at all', ({ keys }) => {
  const chat = keys.create({ org: 'acme', app: 'chat' });
  assert.equal(
    [keys.admits(chat.key, 'acme', 'chat'), keys.admits(chat.key, 'acme', 'other'), keys.admits(chat.key, 'b', 'chat')],
    [true, false, false],
  );
  assert.not.ok(keys.admits(keys.create({ scopes: ['read', 'deploy'] }).key, 'acme', 'chat'));
  const inTenSeconds = Math.ceil(Date.now() / 1000) + 10;
  const short = keys.create({ expiresAt: inTenSeconds });
  assert.ok(keys.check(short.key, inTenSeconds - 0.1));
  assert.is(keys.check(short.key, inTenSeconds), null);
  // The clock was put back: what is on the key counts, not how long ago it was made.
  assert.ok(keys.check(short.key, inTenSeconds - 86_400));
});

test('a check returns the fields of the key, and invalid fields are refused by name', ({ keys }) => {
  const settings = {
    name: '<script>alert(1)</script>',
    org: 'acme',
    app: 'chat',
    scopes: ['deploy', 'call', 'call'] as const,
    expiresAt: 4e9,
    limits: { requestsPerMinute: 60, tokensPerMinute: 1e6, concurrency: 2, bodyBytes: 2 ** 20 },
  };
  const { id, key } = keys.create(settings);
  const found = keys.check(key);
  assert.equal(found, {
    ...settings,
    id,
    scopes: ['call', 'deploy'],
    createdAt: found?.createdAt,
    revokedAt: null,
    lastUsedAt: null,
  });
  const wrong: [string, NewKeySettings][] = [
    ['name', { name: 'x'.repeat(101) }],
    ['org', { org: '../acme' }],
    ['org', { app: 'chat' }],
    ['app', { org: 'acme', app: 'a b' }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['root' as 'admin'] }],
    ['expires_at', { expiresAt: 1 }],
    ['expires_at', { expiresAt: 1e300 }],
    ['limits.requests_per_minute', { limits: { requestsPerMinute: 0 } }],
    ['limits.body_bytes', { limits: { bodyBytes: 1.5 } }],
  ];
  for (const [field, each] of wrong) {
    assert.throws(
      () => keys.create(each),
      (error: ChasquiError) => error.code === 'invalid_value' && error.param === field,
      field,
    );
  }
  assert.is(keys.list().length, 1);
});

test('a check between changes reads no row, and one after a change does', ({ folder, keys }) => {
  const elsewhere = KeyStore.open(folder);
  const { id, key } = keys.create();
  const first = elsewhere.check(key);
  assert.is(elsewhere.check(key), first);
  keys.create();
  assert.is.not(elsewhere.check(key), first);
  assert.equal(elsewhere.check(key), first);
  keys.revoke(id);
  assert.is(elsewhere.check(key), null);
  // Its own changes count at once too.
  const own = elsewhere.create();
  assert.ok(elsewhere.check(own.key));
  elsewhere.revoke(own.id);
  assert.is(elsewhere.check(own.key), null);
  elsewhere.close();
});

test('when a key was used last is written down, and never goes back', ({ keys }) => {
  const [one, other] = [keys.create(), keys.create()];
  keys.setLastUsed(new Map([[one.id, 2000]]));
  keys.setLastUsed(
    new Map([
      [one.id, 1000],
      ['none', 1000],
      [other.id, 3000],
    ]),
  );
  assert.equal([keys.find(one.id)?.lastUsedAt, keys.find(other.id)?.lastUsedAt], [2000, 3000]);
});

test('a file of an earlier version keeps its keys, and one of a later version is left alone', ({ folder, keys }) => {
  const { id, key } = keys.create({ org: 'acme' });
  keys.close();
  const database = new Libsql(path.join(folder, 'chasqui.db'));
  for (const column of COLUMNS_SINCE) database.exec(`ALTER TABLE api_keys DROP COLUMN ${column}`);
  database.exec('PRAGMA user_version = 0');
  const [one, other] = [KeyStore.open(folder), KeyStore.open(folder)];
  assert.ok(one.admits(key, 'acme', 'chat') && other.admits(key, 'acme', 'chat'));
  assert.equal([one.find(id)?.scopes, one.find(id)?.expiresAt], [['call'], null]);
  one.close();
  other.close();
  database.exec('PRAGMA user_version = 99');
  assert.throws(() => KeyStore.open(folder), /newer version/);
  database.exec('PRAGMA user_version = 2');
  database.close();
});

/** Columns that files did not have at first. */
const COLUMNS_SINCE = [
  ...['app', 'scopes', 'expires_at', 'requests_per_minute', 'tokens_per_minute', 'concurrency', 'body_bytes'],
  'last_used_at',
];

test('a file that is no database', ({ folder }) => {
  const other = path.join(folder, 'other');
  fs.mkdirSync(other);
  fs.writeFileSync(path.join(other, 'chasqui.db'), 'Dear database, '.repeat(1000));
  assert.throws(
    () => KeyStore.open(other),
    (error: ChasquiError) =>
      error instanceof ChasquiError && error.code === 'key_store_failed' && /chasqui\.db/.test(error.message),
  );
});

test.run();
