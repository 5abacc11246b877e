import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Database, openDatabase } from '../../../../ts/cloud/store/database.ts';
import { SecretStore } from '../../../../ts/cloud/store/secrets.ts';
import { ChasquiError } from '../../../../ts/errors.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-secrets-'));
let database: Database;
let secrets: SecretStore;

test.before(() => {
  database = openDatabase(folder);
  secrets = new SecretStore(database, folder);
});
test.after(() => {
  database.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const VALUE = 'hf_a-token-that-nobody-may-see 漢';

test('secrets are read back, missing ones are named, and values are not listed', () => {
  secrets.set('acme', 'HF_TOKEN', VALUE);
  secrets.set('acme', 'OTHER', 'x');
  secrets.set('acme', 'OTHER', 'y');
  assert.equal(secrets.read('acme', ['HF_TOKEN', 'OTHER']), { HF_TOKEN: VALUE, OTHER: 'y' });
  assert.throws(() => secrets.read('acme', ['NONE', 'OTHER', 'NOT']), /acme has no secret NONE, NOT\. Run: chasqui/);
  assert.throws(() => secrets.read('others', ['HF_TOKEN']), /others has no secret HF_TOKEN/);
  assert.equal(
    secrets.list('acme').map(({ name }) => name),
    ['HF_TOKEN', 'OTHER'],
  );
  assert.not(JSON.stringify(secrets.list('acme')).includes(VALUE));
});

test('no file has the value, and the key is for its owner alone', () => {
  for (const name of fs.readdirSync(folder)) {
    assert.not(fs.readFileSync(path.join(folder, name)).includes('nobody-may-see'), name);
  }
  assert.is(fs.statSync(path.join(folder, 'secret.key')).mode & 0o777, 0o600);
});

test('another start reads them with the same key, another key does not', () => {
  assert.equal(new SecretStore(database, folder).read('acme', ['HF_TOKEN']), { HF_TOKEN: VALUE });
  const other = path.join(folder, 'other');
  fs.mkdirSync(other);
  assert.throws(
    () => new SecretStore(database, other).read('acme', ['HF_TOKEN']),
    (error: unknown) => error instanceof ChasquiError && error.code === 'cloud_store_failed',
  );
});

test('a value that was moved to another name is refused', () => {
  const row = database.get<{ value: Uint8Array }>("SELECT value FROM secrets WHERE name = 'HF_TOKEN'");
  database.run("UPDATE secrets SET value = ? WHERE name = 'OTHER'", [Buffer.from(row?.value ?? [])]);
  assert.throws(() => secrets.read('acme', ['OTHER']), /Set them again/);
});

test('a removed secret is gone', () => {
  assert.ok(secrets.remove('acme', 'HF_TOKEN'));
  assert.not(secrets.remove('acme', 'HF_TOKEN'));
  assert.throws(() => secrets.read('acme', ['HF_TOKEN']), /has no secret HF_TOKEN/);
});

test.run();
