import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeLogin } from '../../ts/cli/cloud/client.js';
import { AuditLog } from '../../ts/cloud/accounts/audit.js';
import { openDatabase } from '../../ts/cloud/store/database.js';
import { KeyStore } from '../../ts/keys/key-store.js';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild } from '../support/child.js';
import { accountsApp, testAccounts } from '../support/cloud-accounts.js';

const test = suite<{ folder: string }>('cli: keys');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-'));
});

test.after.each(({ folder }) => fs.rmSync(folder, { recursive: true }));

async function keys(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await callCli(['keys', ...args, '--data-dir', folder]);
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
  assert.equal(rest, {
    id: created.id,
    name: 'laptop',
    org: 'acme',
    app: null,
    scopes: ['call'],
    role: null,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    limits: NO_LIMITS,
  });

  assert.type(JSON.parse(await keys(folder, 'revoke', '--json', created.id)).revoked_at, 'number');
  assert.type(JSON.parse(await keys(folder, 'list', '--json'))[0].revoked_at, 'number');
});

const NO_LIMITS = { requests_per_minute: null, tokens_per_minute: null, concurrency: null, body_bytes: null };

test('app, scopes, expiry and limits', async ({ folder }) => {
  const settings = ['--org', 'acme', '--app', 'chat', '--scopes', 'deploy,call', '--expires', '30d'];
  const limits = [
    '--requests-per-minute',
    '60',
    '--tokens-per-minute',
    '1000',
    '--concurrency',
    '2',
    '--max-body',
    '4',
  ];
  await keys(folder, 'create', '--json', ...settings, ...limits);
  await keys(folder, 'create', '--json', '--name', `a name ${'x'.repeat(80)}`, '--expires', '2099-12-31');
  const [first, second] = JSON.parse(await keys(folder, 'list', '--json'));
  const [key, dated] = first.app === null ? [second, first] : [first, second];
  assert.equal(
    [key.org, key.app, key.scopes, key.limits],
    [
      'acme',
      'chat',
      ['call', 'deploy'],
      { requests_per_minute: 60, tokens_per_minute: 1000, concurrency: 2, body_bytes: 4 * 2 ** 20 },
    ],
  );
  assert.ok(Math.abs(key.expires_at - (Date.now() / 1000 + 30 * 86_400)) < 300);
  assert.is(dated.expires_at, Date.parse('2099-12-31T23:59:59Z') / 1000);
  assert.equal(JSON.parse(await keys(folder, 'list', '--json', '--org', 'other')), [dated]);
  for (const line of (await keys(folder, 'list')).split('\n')) assert.ok(line.length <= 100, line);
});

test('invalid values are refused with the name of their flag', async ({ folder }) => {
  for (const [args, words] of [
    [['--expires', 'soon'], '--expires is "soon", but must be'],
    [['--expires', '2001-01-01'], '--expires must be a time in the future'],
    [['--app', 'chat'], '--org must name the organisation'],
    [['--scopes', 'root'], '--scopes must have one or more of'],
    [['--org', 'a b'], '--org must have at most 100'],
    [['--concurrency', '0'], '--concurrency'],
  ] as [string[], string][]) {
    const { code, stdout, stderr } = await callCli(['keys', 'create', ...args, '--data-dir', folder]);
    assert.equal([code, stdout], [2, ''], words);
    assert.match(stderr, words);
  }
});

test('where a cloud was, its audit tells what was done without it', async ({ folder }) => {
  openDatabase(path.join(folder, 'cloud')).close();
  const { id } = JSON.parse(await keys(folder, 'create', '--json'));
  await keys(folder, 'revoke', id);
  const database = openDatabase(path.join(folder, 'cloud'));
  assert.equal(
    new AuditLog(database).list().map(({ action, actor, subject }) => [action, actor, subject]),
    [
      ['key.revoke', 'local:this machine', id],
      ['key.create', 'local:this machine', id],
    ],
  );
  database.close();
});

test('in a cloud a key reaches as far as that of who makes it, unless something else is said', async ({ folder }) => {
  const { accounts, remove } = testAccounts();
  const cloud = accountsApp(accounts);
  cloud.get('/api/cloud/v1/about', async () => ({ org: 'me' }));
  const url = await cloud.listen({ host: '127.0.0.1', port: 0 });
  const { id, key } = accounts.keys.create({ org: 'acme', scopes: ['admin', 'read'] });
  writeLogin(folder, { url, key });
  for (const args of [[], ['--app', 'chat'], ['--org', 'acme']]) await keys(folder, 'create', '--json', ...args);
  const beyond = await callCli(['keys', 'create', '--org', 'globex', '--data-dir', folder]);
  assert.equal([beyond.code, beyond.stdout], [3, '']);
  assert.match(beyond.stderr, 'is restricted to acme');
  const made = accounts.keys.list().filter((each) => each.id !== id);
  assert.equal(made.map(({ org, app }) => `${org}/${app}`).sort(), ['acme/chat', 'acme/null', 'acme/null']);
  await cloud.close();
  remove();
});

test('create, list and revoke, for people', async ({ folder }) => {
  assert.match(await keys(folder, 'list'), /No keys\. .*chasqui keys create/);
  const { stdout, stderr } = await callCli(['keys', 'create', '--data-dir', folder]);
  const key = stdout.trim();
  assert.match(stdout, /^[0-9a-f]{16}:[\w-]{43}\n$/, 'a shell captures the key alone');
  assert.match(stderr, `Authorization: Key ${key}`);
  assert.match(stderr, /only once/);
  const [id = '', secret = ''] = key.split(':');
  assert.match(await keys(folder, 'list'), new RegExp(`^ID .*\\n${id} +- +every one `));
  assert.match(await keys(folder, 'revoke', key), `The key ${id} is revoked.`);
  const listed = await keys(folder, 'list');
  assert.match(listed, /\d{4}-\d\d-\d\d +- +revoked \d{4}-\d\d-\d\d$/m);
  assert.not.match(listed, secret);
});

test('a key that there is not', async ({ folder }) => {
  const { code, stdout, stderr } = await callCli(['keys', 'revoke', 'abc', '--data-dir', folder]);
  assert.equal([code, stdout], [5, '']);
  assert.match(stderr, /^chasqui: There is no key with the id abc; see: npx chasqui keys list\n$/);
});

test('a folder that cannot be used', async ({ folder }) => {
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const { code, stderr } = await callCli(['keys', 'list', '--data-dir', file]);
  assert.is(code, 1);
  assert.match(stderr, /^chasqui: Cannot use the keys in .*chasqui\.db: .*\n$/);
});

test('processes that create at the same time do not get in each other’s way', async ({ folder }) => {
  const args = ['keys', 'create', '--json', '--data-dir', folder];
  const created = await Promise.all(Array.from({ length: 4 }, () => runCli(args)));
  const ids = created.map(({ stdout }) => JSON.parse(stdout).id).sort();
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
