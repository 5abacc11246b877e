import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { runCli, startChild } from '../support/child.js';

const test = suite<{ folder: string }>('cli: keys');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-'));
});

test.after.each(({ folder }) => fs.rmSync(folder, { recursive: true }));

async function keys(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(['keys', ...args, '--data-dir', folder]);
  assert.equal([code, stderr], [0, '']);
  return stdout;
}

test('create, list and revoke, for programs', async ({ folder }) => {
  const created = JSON.parse(await keys(folder, 'create', '--json', '--org', 'acme', '--name', 'laptop'));
  assert.equal(Object.keys(created), ['id', 'key']);
  assert.ok(created.key.startsWith(`${created.id}:`));

  const listed = await keys(folder, 'list', '--json');
  assert.not.match(listed, created.key.split(':')[1]);
  const [entry, ...others] = JSON.parse(listed);
  assert.equal(others, []);
  const { created_at, ...rest } = entry;
  assert.type(created_at, 'number');
  assert.equal(rest, { id: created.id, name: 'laptop', org: 'acme', revoked_at: null });

  assert.type(JSON.parse(await keys(folder, 'revoke', '--json', created.id)).revoked_at, 'number');
  assert.type(JSON.parse(await keys(folder, 'list', '--json'))[0].revoked_at, 'number');
});

test('create, list and revoke, for people', async ({ folder }) => {
  assert.match(await keys(folder, 'list'), /no keys.*chasqui keys create/);
  const [key = '', , ...advice] = (await keys(folder, 'create')).split('\n');
  assert.match(advice.join('\n'), `Authorization: Key ${key}`);
  assert.match(advice.join('\n'), /only time/);
  const [id = '', secret = ''] = key.split(':');
  assert.match(await keys(folder, 'list'), new RegExp(`^ID .*\\n${id} +- +every one `));
  assert.match(await keys(folder, 'revoke', key), `The key ${id} is revoked.`);
  const listed = await keys(folder, 'list');
  assert.match(listed, /\d{4}-\d\d-\d\d \d\d:\d\d +\d{4}-/);
  assert.not.match(listed, secret);
});

test('a key that there is not', async ({ folder }) => {
  const { code, stdout, stderr } = await runCli(['keys', 'revoke', 'abc', '--data-dir', folder]);
  assert.equal([code, stdout], [1, '']);
  assert.match(stderr, /^chasqui: there is no key with the id abc; see: chasqui keys list\n$/);
});

test('a folder that cannot be used', async ({ folder }) => {
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const { code, stderr } = await runCli(['keys', 'list', '--data-dir', file]);
  assert.is(code, 1);
  assert.match(stderr, /^chasqui: The keys in .*chasqui\.db cannot be used: .*\n$/);
});

test('processes that create at the same time do not get in each other’s way', async ({ folder }) => {
  const created = await Promise.all(Array.from({ length: 4 }, () => keys(folder, 'create', '--json')));
  const ids = created.map((text) => JSON.parse(text).id).sort();
  const store = KeyStore.open(folder);
  assert.equal(
    store
      .list()
      .map(({ id }) => id)
      .sort(),
    ids,
  );
  store.close();
});

test('a process that is killed while it writes leaves a database that works, with every key that it told of', async ({
  folder,
}) => {
  const writer = startChild('test/support/write-keys.ts', [folder]);
  while (writer.output.stdout.split('\n').length < 50) await new Promise((resolve) => setTimeout(resolve, 5));
  writer.process.kill('SIGKILL');
  await writer.exited;
  const told = writer.output.stdout.split('\n').slice(0, -1);
  const store = KeyStore.open(folder);
  for (const key of told) assert.ok(store.admits(key, 'acme'), key);
  assert.ok(store.list().length <= told.length + 1);
  store.close();
});

test.run();
