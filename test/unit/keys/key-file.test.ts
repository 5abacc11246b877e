// Keys that another program keeps in a file: what opens a deployment, and that changes count at once.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newKey } from '../../../ts/keys/api-key.js';
import { KeyFile, type StoredKey } from '../../../ts/keys/key-file.js';

const test = suite('key file');
let folder = '';
let file = '';
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'chasqui-keys-'));
  file = join(folder, 'keys.json');
});
test.after.each(() => rmSync(folder, { recursive: true }));

function write(...keys: StoredKey[]): void {
  writeFileSync(file, JSON.stringify({ keys }));
}

function stored(fields: Partial<StoredKey> = {}): { key: string; row: StoredKey } {
  const { id, key, hash } = newKey();
  return { key, row: { id, hash: hash.toString('hex'), ...fields } };
}

test('a key opens the deployments of its organisation, and one without an organisation opens all', () => {
  const acme = stored({ org: 'acme' });
  const any = stored();
  write(acme.row, any.row);
  const keys = new KeyFile(file);
  assert.ok(keys.admits(acme.key, 'acme'));
  assert.not.ok(keys.admits(acme.key, 'other'));
  assert.ok(keys.admits(any.key, 'other'));
});

test('another secret, another id and no key at all open nothing', () => {
  const { key, row } = stored();
  write(row);
  const keys = new KeyFile(file);
  const [id, secret] = key.split(':');
  for (const wrong of ['', id, `${id}:`, `${id}:${'A'.repeat(43)}`, `${'0'.repeat(16)}:${secret}`, stored().key]) {
    assert.not.ok(keys.admits(String(wrong), 'acme'), wrong);
  }
});

test('an expired key opens nothing', () => {
  const now = Date.now() / 1000;
  const [early, late] = [stored({ expiresAt: now - 1 }), stored({ expiresAt: now + 1000 })];
  write(early.row, late.row);
  const keys = new KeyFile(file);
  assert.not.ok(keys.admits(early.key, 'acme'));
  assert.ok(keys.admits(late.key, 'acme'));
});

test('a file that is replaced counts with the next request, as mounted secrets are replaced', () => {
  const [first, second] = [stored(), stored()];
  for (const [name, { row }] of Object.entries({ first, second })) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'keys.json'), JSON.stringify({ keys: [row] }));
  }
  symlinkSync('first', join(folder, 'data'));
  const keys = new KeyFile(join(folder, 'data', 'keys.json'));
  assert.ok(keys.admits(first.key, 'acme'));
  symlinkSync('second', join(folder, 'next'));
  renameSync(join(folder, 'next'), join(folder, 'data'));
  assert.not.ok(keys.admits(first.key, 'acme'));
  assert.ok(keys.admits(second.key, 'acme'));
});

test('a file that cannot be read any more opens nothing, until it can be read again', () => {
  const { key, row } = stored();
  write(row);
  const keys = new KeyFile(file);
  writeFileSync(file, '{"keys": [');
  assert.not.ok(keys.admits(key, 'acme'));
  rmSync(file);
  assert.not.ok(keys.admits(key, 'acme'));
  write(row);
  assert.ok(keys.admits(key, 'acme'));
});

const { row: good } = stored();
for (const [what, content, says] of [
  ['no JSON', 'keys', /Cannot use the keys/],
  ['no list', '{}', /`keys` is not an array/],
  ['an id', JSON.stringify({ keys: [good, { ...good, id: 'x' }] }), /`keys\[1\]\.id` is not 16/],
  ['a hash', JSON.stringify({ keys: [{ ...good, hash: 'x' }] }), /`keys\[0\]\.hash` is not 64/],
  ['an organisation', JSON.stringify({ keys: [{ ...good, org: 7 }] }), /`keys\[0\]\.org` is not a string/],
  ['a time', JSON.stringify({ keys: [{ ...good, expiresAt: 'soon' }] }), /`keys\[0\]\.expiresAt` is not a number/],
  ['a row', '{"keys": [null]}', /`keys\[0\]\.id`/],
  ['its size', ' '.repeat(5 << 20), /more than/],
] as const) {
  test(`it is refused for ${what}`, () => {
    writeFileSync(file, content);
    assert.throws(() => new KeyFile(file), says);
  });
}

test.run();
