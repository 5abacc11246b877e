// Several apps and organisations on one machine: memory, secrets, keys, and deployments from elsewhere.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import { ChasquiError } from '../../ts/errors.js';
import { RESERVED_ORGS } from '../../ts/keys/key-settings.js';
import { runCli } from '../support/child.js';
import { TestCloud, writeScript } from '../support/cloud.js';
import { demoModelPath } from '../support/demo-model.js';

const test = suite('cloud: sharing');
let cloud: TestCloud;
const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-elsewhere-'));

test.before(async () => {
  cloud = await TestCloud.start(['--runners-memory', '500'], { AWS_SECRET_ACCESS_KEY: 'of-the-operator' });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
  fs.rmSync(elsewhere, { recursive: true, force: true });
});

const LARGE = { machine: { memory: '260Mi' }, scale: { keepAlive: '1h' } };

async function codeOf(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return 'nothing was thrown';
  } catch (error) {
    return error instanceof ChasquiError ? error.code : String(error);
  }
}

test('where memory is for one, the app that is idle gives way to the one that is called', async () => {
  await cloud.deployed('one', LARGE);
  await cloud.deployed('two', LARGE);
  const events = await cloud.events('one');
  assert.ok(events.some(({ reason }) => reason === 'evicted for me/two'));
  assert.is((await cloud.post('one', { max_tokens: 2 })).status, 200);
  await cloud.untilApp('two', ({ state }) => state === 'asleep');
});

test('a revision that does not fit beside the old runners says so, and is deployed by recreating', async () => {
  const larger = { ...LARGE, scale: { min: 1 } };
  await cloud.deployed('one', larger, { strategy: 'recreate' });
  const { revision } = await cloud.deploy('one', { ...larger, slots: 2 });
  await cloud.untilRevision('one', revision, 'failed');
  const { revisions } = await cloud.status('one');
  assert.match(revisions.at(-1)?.reason ?? '', 'Deploy with the strategy `recreate`');
  assert.is((await cloud.post('one', { max_tokens: 1 })).status, 200);
  const again = await cloud.deployed('one', { ...larger, slots: 2 }, { strategy: 'recreate' });
  assert.is((await cloud.status('one')).revision, again.revision);
  assert.is((await cloud.post('one', { max_tokens: 1 })).status, 200);
});

test('a secret is in the environment of runners that ask for it, and nowhere else', async () => {
  const set = await cloud.cli('secrets', 'set', 'MY_TOKEN', 'nobody-may-see-this');
  assert.is(set.code, 0, set.stderr);
  assert.is((await cloud.cli('secrets', 'set', 'my token', 'x')).code, 2);
  for (const name of ['NODE_OPTIONS', 'LD_PRELOAD', 'PATH']) {
    assert.is((await cloud.cli('secrets', 'set', name, 'x')).code, 2, name);
    assert.is(await codeOf(() => cloud.deploy('chat', { secrets: [name] })), 'script_invalid');
  }
  await cloud.client.delete('/apps/me/one');
  await cloud.deployed('secretive', { secrets: ['MY_TOKEN'], scale: { min: 1 } });
  const { runners } = await cloud.status('secretive');
  const environment = fs.readFileSync(`/proc/${runners[0]?.pid}/environ`, 'utf8');
  assert.match(environment, 'MY_TOKEN=nobody-may-see-this');
  assert.not.match(environment, 'of-the-operator');
  const list = await cloud.cli('secrets', 'list', '--json');
  assert.equal(
    JSON.parse(list.stdout).map(({ name }: { name: string }) => name),
    ['MY_TOKEN'],
  );
  assert.not.match(list.stdout, 'nobody-may-see-this');
  assert.is((await cloud.cli('secrets', 'rm', 'MY_TOKEN')).code, 0);
  assert.is((await cloud.cli('secrets', 'rm', 'MY_TOKEN')).code, 5);
  for (const deploy of [
    () => cloud.deploy('chat', { secrets: ['MY_TOKEN', 'OTHER'] }),
    () => cloud.client.post('/apps/me/secretive/restart'),
  ]) {
    const refusal = (await deploy().catch((error: unknown) => error)) as ChasquiError;
    assert.is(refusal.code, 'script_invalid');
    assert.match(refusal.message, /^The organisation me has no secret MY_TOKEN/);
  }
});

test('a runner that exceeds its memory is ended alone, and the reason says so', async () => {
  assert.is(await codeOf(() => cloud.deploy('small', { machine: { memory: '1Mi' } })), 'script_invalid');
  assert.is(await codeOf(() => cloud.deploy('small', { machine: { gpu: 64 } })), 'script_invalid');
  const tight = await cloud.deploy('small', { context: 65_536, machine: { memory: '181Mi' } });
  await cloud.untilRevision('small', tight.revision, 'failed');
  const reasonOf = async () => (await cloud.status('small')).revisions.at(-1)?.reason ?? '';
  assert.match(await reasonOf(), /`machine\.memory` of the app small is 181 MiB, but models and contexts need about/);
  const double =
    '{% set ns = namespace(t="xxxxxxxx") %}{% for i in range(30) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}';
  const { revision } = await cloud.deploy('small', { chatTemplate: double, machine: { memory: '260Mi' } });
  await cloud.untilRevision('small', revision, 'failed');
  assert.match(await reasonOf(), /^it ran out of memory: its limit is 260 MiB|memory ran out/);
});

test('keys of other organisations, and without the scope, do not deploy', async () => {
  const keyOf = async (settings: object): Promise<string> => {
    const { key } = await cloud.client.post<{ key: string }>('/keys', settings);
    return key;
  };
  const { url } = cloud;
  const acme = await CloudClient.of({ url, key: await keyOf({ org: 'acme', scopes: ['deploy', 'read'] }) });
  assert.is(await codeOf(() => acme.delete('/apps/me/secretive')), 'permission_denied');
  assert.is(await codeOf(() => acme.put('/secrets/me/A', { value: 'x' })), 'permission_denied');
  const { apps } = await acme.get<{ apps: unknown[] }>('/apps');
  assert.equal(apps, []);
  const reader = await CloudClient.of({ url, key: await keyOf({ org: 'me', scopes: ['read'] }) });
  assert.is(await codeOf(() => reader.post('/apps/me/secretive/restart')), 'permission_denied');
  assert.is(await codeOf(() => CloudClient.of({ url, key: 'nonsense' })), 'invalid_api_key');
  const caller = await keyOf({ org: 'me' });
  assert.is(await codeOf(() => CloudClient.of({ url, key: caller })), 'permission_denied');
});

test("deployments with a key cannot name files of the cloud's machine", async () => {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: 'me', scopes: ['deploy', 'read'] });
  const stranger = await CloudClient.of({ url: cloud.url, key });
  const deploy = (options: object) => stranger.post('/apps/me/stranger/revisions', { options });
  for (const model of [demoModelPath, `${cloud.home}/cloud/models/../../own.gguf`]) {
    assert.is(await codeOf(() => deploy({ model: `file:${model}` })), 'permission_denied', model);
  }
  const file = path.join(cloud.home, 'cloud', 'secret.key');
  assert.is(await codeOf(() => deploy({ model: 'demo', chatTemplateFile: file })), 'script_invalid');
  assert.is(await codeOf(() => cloud.deploy('chat', { chatTemplateFile: file })), 'script_invalid');
});

test('a template in a file beside the script is deployed with it', async () => {
  const script = writeScript(
    `export const spoken = app({ model: 'demo', auth: 'public', context: 512, chatTemplateFile: './own.jinja' });`,
  );
  fs.writeFileSync(path.join(path.dirname(script), 'own.jinja'), '{{ messages[0].content }}');
  const { code, stdout, stderr } = await cloud.cli('deploy', script);
  assert.is(code, 0, stderr);
  assert.match(stdout, '+ chatTemplate: "{{ messages[0].content }}"');
  assert.is((await cloud.post('spoken', { max_tokens: 1 })).status, 200);
});

test('from elsewhere one logs in with a key, and files are sent by their digests', async () => {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: 'me', scopes: ['deploy', 'read'] });
  const variables = { CHASQUI_HOME: elsewhere };
  const refused = await runCli(['login', cloud.url, '--key', 'wrong'], variables);
  assert.is(refused.code, 3);
  const login = await runCli(['login', cloud.url, '--key', key], variables);
  assert.is(login.code, 0, login.stderr);
  assert.is(fs.statSync(path.join(elsewhere, 'login.json')).mode & 0o777, 0o600);
  const file = path.join(elsewhere, 'sent.gguf');
  fs.copyFileSync(demoModelPath, file);
  const script = writeScript(`export const sent = app({ model: 'file:${file}', auth: 'public', context: 512 });`);
  const { code, stderr } = await runCli(['deploy', script], variables);
  assert.is(code, 0, stderr);
  const split = path.join(elsewhere, 'split-00001-of-00002.gguf');
  fs.copyFileSync(demoModelPath, split);
  const parts = await runCli(
    ['deploy', writeScript(`export const parts = app({ model: 'file:${split}' });`)],
    variables,
  );
  assert.is(parts.code, 2);
  assert.match(parts.stderr, '`model` is a model in 2 files, which cannot be sent to another machine: join them');
  fs.rmSync(file);
  assert.is((await cloud.post('sent', { model: 'sent', max_tokens: 1 })).status, 200);
});

test('requests that are wrong are refused with the field’s name', async () => {
  assert.is(await codeOf(() => cloud.deploy('chat', { slots: 0 })), 'script_invalid');
  assert.is(await codeOf(() => cloud.deploy('a b', {})), 'invalid_value');
  for (const org of RESERVED_ORGS) {
    for (const create of [
      () => cloud.client.post(`/apps/${org}/chat/revisions`, { options: { model: 'demo' } }),
      () => cloud.client.post('/keys', { org }),
      () => cloud.client.put(`/secrets/${org}/MY_TOKEN`, { value: 'x' }),
    ]) {
      const refusal = (await create().catch((error: unknown) => error)) as ChasquiError;
      assert.is(refusal.code, 'invalid_value', `${org}: ${create}`);
      assert.match(refusal.message, `\`org\` cannot be \`${org}\``);
    }
  }
  assert.is(await codeOf(() => cloud.client.post('/apps/me/chat/revisions', {})), 'missing_required_parameter');
  assert.is(await codeOf(() => cloud.client.put('/apps/me/secretive/scale', { min: 2, max: 1 })), 'invalid_value');
  assert.is(await codeOf(() => cloud.client.get('/apps/me/secretive/logs?cursor=x')), 'invalid_value');
  assert.is(await codeOf(() => cloud.client.get('/nothing')), 'unknown_url');
  const { apps } = await cloud.client.get<{ apps: { app: string }[] }>('/apps');
  assert.ok(apps.every(({ app }) => app !== 'chat'));
});

test.run();
