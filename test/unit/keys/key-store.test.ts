import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { KeyStore } from '../../../ts/keys/key-store.js';

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
      .list('acme')
      .map(({ id }) => id)
      .sort(),
    [first.id, third.id].sort(),
  );
  const [entry] = keys.list('acme').filter(({ id }) => id === first.id);
  assert.equal(Object.keys(entry ?? {}), ['id', 'name', 'org', 'createdAt', 'revokedAt']);
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
