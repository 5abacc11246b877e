// Weights that have to be fetched: from a hub, from an address, over a killed control plane, and not at all.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { until } from '../support/until.js';

const test = suite('cloud: weights');
const REPO = 'ada/demo-GGUF';
const FILE = 'demo-Q4_K_M.gguf';
let hub: FakeHub;
let cloud: TestCloud;
let cache: string;

test.before(async () => {
  hub = await fakeHub({
    [REPO]: { files: { [FILE]: fs.readFileSync(demoModelPath) }, gguf: { architecture: 'llama' } },
  });
  cache = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-hub-'));
  cloud = await TestCloud.start([], {
    HF_ENDPOINT: hub.url,
    HF_TOKEN: 'hf_operator',
    HF_HUB_CACHE: cache,
    LLAMA_CACHE: '',
  });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
  await hub.close();
  fs.rmSync(cache, { recursive: true, force: true });
});

const HUB = { model: `hf:${REPO}:Q4_K_M`, scale: { keepAlive: '100ms' } };

test('a deployment of a hub’s model shows how much has come, and goes on after the control plane was killed', async () => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 1_000_000 } };
  const { revision } = await cloud.deploy('hub', HUB);
  await cloud.untilApp('hub', ({ progress }) => /^fetching weights [1-9]\d? %$/.test(progress ?? ''));
  assert.is((await cloud.status('hub')).revisions[0]?.state, 'fetching');
  await cloud.kill();
  hub.misbehaviour = {};
  await cloud.begin();
  await cloud.untilRevision('hub', revision, 'active');
  const reply = await cloud.post('hub', { model: 'demo', max_tokens: 2 });
  assert.is(reply.status, 200);
});

test('fetched weights are available without the hub, also after a restart', async () => {
  await cloud.untilApp('hub', ({ state }) => state === 'asleep');
  hub.misbehaviour = { silent: true };
  await cloud.kill();
  await cloud.begin();
  assert.is((await cloud.post('hub', { model: 'demo', max_tokens: 2 })).status, 200);
  hub.misbehaviour = {};
});

test('an outage of the hub at the start does not make an app fail', async () => {
  await cloud.untilApp('hub', ({ state }) => state === 'asleep');
  await cloud.kill();
  fs.rmSync(cache, { recursive: true });
  hub.misbehaviour = { failing: 1000 };
  await cloud.begin();
  const waiting = cloud.post('hub', { model: 'demo', max_tokens: 2 });
  await cloud.untilApp('hub', ({ progress, state }) => state === 'failed' || /hub/.test(progress ?? ''));
  assert.is.not((await cloud.status('hub')).state, 'failed');
  hub.misbehaviour = {};
  assert.is((await waiting).status, 200);
});

const part = () => {
  const models = path.join(cloud.home, 'models');
  const names = fs.existsSync(models) ? fs.readdirSync(models, { recursive: true, encoding: 'utf8' }) : [];
  return names.find((name) => name.endsWith('.part'));
};

test('a cloud that is stopped leaves no part of a model, and the next one fetches it', async () => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 1_000_000 } };
  const { revision } = await cloud.deploy('address', { ...HUB, model: `${hub.url}/${REPO}/resolve/main/${FILE}?1` });
  await until(() => part() !== undefined, 'a part of the model');
  cloud.child.process.kill('SIGTERM');
  assert.equal(await cloud.child.exited, { code: 0, signal: null });
  assert.is(part(), undefined);
  hub.misbehaviour = {};
  await cloud.begin();
  await cloud.untilRevision('address', revision, 'active');
});

test('a model that no app wants any more is not fetched to its end', async () => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 1_000_000 } };
  const address = (number: number) => ({ ...HUB, model: `${hub.url}/${REPO}/resolve/main/${FILE}?${number}` });
  await cloud.deploy('unwanted', address(2));
  await until(() => part() !== undefined, 'a part of the model');
  const { revision } = await cloud.deploy('unwanted', HUB);
  await until(() => part() === undefined, 'the end of the fetch');
  await cloud.untilRevision('unwanted', revision, 'active');
  await cloud.deploy('unwanted', address(3));
  await until(() => part() !== undefined, 'a part of the model');
  await cloud.client.delete('/apps/me/unwanted');
  await until(() => part() === undefined, 'the end of the fetch');
  hub.misbehaviour = {};
});

test('partial downloads of a killed cloud are removed by a later start', async () => {
  const folder = path.join(cloud.home, 'models', '0123456789abcdef');
  fs.mkdirSync(folder);
  const left = path.join(folder, 'model.gguf.1.part');
  fs.writeFileSync(left, 'GGUF');
  fs.utimesSync(left, 0, 0);
  await cloud.kill();
  await cloud.begin();
  assert.is(fs.existsSync(left), false);
});

/** Deploys with an API key, as a remote client does. */
async function deployWithKey(app: string, options: object): Promise<number> {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: 'me', scopes: ['deploy', 'read'] });
  const reply = await fetch(`${cloud.url}/api/cloud/v1/apps/me/${app}/revisions`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ options: { ...HUB, auth: 'public', ...options } }),
  });
  assert.is(reply.status, 201);
  return ((await reply.json()) as { revision: number }).revision;
}

test('remote deployments fetch nothing from private networks unless allowed', async () => {
  const model = `${hub.url}/${REPO}/resolve/main/${FILE}?elsewhere`;
  const timesAsked = () => hub.seen.filter(({ path: asked }) => asked.endsWith('?elsewhere')).length;
  // What is here already for this machine's own apps is not for others.
  const own = await cloud.deploy('near', { model, alias: 'demo', scale: { keepAlive: '100ms' } });
  await cloud.untilRevision('near', own.revision, 'active');
  assert.is(timesAsked(), 1);
  const refused = await deployWithKey('elsewhere', { model, alias: 'demo' });
  await cloud.untilRevision('elsewhere', refused, 'failed');
  assert.match((await cloud.status('elsewhere')).revisions[0]?.reason ?? '', '`allowPrivateModelHosts`');
  // A restart from this machine does not change the owner.
  const { revision } = await cloud.client.post<{ revision: number }>('/apps/me/elsewhere/restart');
  await cloud.untilRevision('elsewhere', revision, 'failed');
  assert.is(timesAsked(), 1);
  await cloud.kill();
  await cloud.begin(['--allow-private-model-hosts']);
  await cloud.untilRevision('elsewhere', await deployWithKey('elsewhere', { model, alias: 'demo' }), 'active');
  await cloud.kill();
  await cloud.begin();
});

test('two apps that want the same file fetch it once', async () => {
  const url = `${hub.url}/${REPO}/resolve/main/${FILE}`;
  const options = { model: url, alias: 'demo', scale: { keepAlive: '100ms' } };
  const before = hub.sentBytes();
  const [one, two] = await Promise.all([cloud.deploy('one', options), cloud.deploy('two', { ...options, slots: 2 })]);
  await cloud.untilRevision('one', one.revision, 'active');
  await cloud.untilRevision('two', two.revision, 'active');
  assert.is(hub.sentBytes() - before, fs.statSync(demoModelPath).size);
});

test('the secret HF_TOKEN of an app opens models that are not for everybody, and for no other app', async () => {
  const repo = 'ada/gated-GGUF';
  const bytes = fs.readFileSync(demoModelPath);
  hub.put(repo, {
    files: { [FILE]: bytes },
    gguf: { architecture: 'llama' },
    private: true,
    tokens: ['hf_mine', 'hf_operator'],
  });
  const options = { model: `hf:${repo}:Q4_K_M`, alias: 'demo', scale: { keepAlive: '100ms' } };
  const without = await cloud.deploy('without', options);
  await cloud.untilRevision('without', without.revision, 'failed');
  await cloud.client.put('/secrets/me/HF_TOKEN', { value: 'hf_mine' });
  await cloud.deployed('with', { ...options, secrets: ['HF_TOKEN'] });
  assert.is((await cloud.post('with', { model: 'demo', max_tokens: 2 })).status, 200);
  assert.ok(hub.seen.some(({ authorization }) => authorization === 'Bearer hf_mine'));
  assert.not(hub.seen.some(({ authorization }) => authorization === 'Bearer hf_operator'));
  const again = await cloud.deploy('without', { ...options, slots: 2 });
  await cloud.untilRevision('without', again.revision, 'failed');
  await cloud.client.put('/secrets/me/HF_TOKEN', { value: 'two words' });
  const spoilt = await cloud.deploy('with', { ...options, slots: 3, secrets: ['HF_TOKEN'] });
  await cloud.untilRevision('with', spoilt.revision, 'failed');
  assert.match((await cloud.status('with')).revisions.at(-1)?.reason ?? '', /HF_TOKEN/);
});

test('a model that the hub does not have is a failure at once, and requests hear of it', async () => {
  const { revision } = await cloud.deploy('none', { model: 'hf:ada/nothing-GGUF' });
  await cloud.untilRevision('none', revision, 'failed');
  const reply = await cloud.post('none', {});
  assert.is(reply.status, 424);
  assert.match(JSON.stringify(await reply.json()), 'ada/nothing-GGUF');
});

test('a model that is larger than its runner may be fails while it is being fetched', async () => {
  const repo = 'ada/large-GGUF';
  hub.put(repo, { files: { [FILE]: Buffer.alloc(200 * 2 ** 20) }, gguf: { architecture: 'llama' } });
  hub.misbehaviour = { holds: { path: FILE, fromByte: 1_000_000 } };
  const options = { ...HUB, model: `hf:${repo}:Q4_K_M`, machine: { memory: '190Mi' } };
  const { revision } = await cloud.deploy('large', options);
  await cloud.untilRevision('large', revision, 'failed');
  hub.misbehaviour = {};
  const { reason } = (await cloud.status('large')).revisions[0] ?? {};
  assert.match(reason ?? '', '`machine.memory` of the app large is 190 MiB, but the model files have 200 MiB');
});

test.run();
