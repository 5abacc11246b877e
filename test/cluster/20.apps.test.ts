// `chasqui apps` with Kubernetes' own controllers: revisions, rollbacks, restarts, events, deletion.
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { runCli } from '../support/child.js';
import { RealCluster } from '../support/kubernetes/real-cluster.js';
import { until } from '../support/until.js';

const test = suite('cluster: apps');
const folder = fs.mkdtempSync(path.join(tmpdir(), 'chasqui-apps-'));
const NAMESPACE = 'models';
const WHERE = ['--org', 'acme', '--context', 'admin'];
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
let cluster: RealCluster;
let stopMarking = async (): Promise<void> => {};

test.before(async () => {
  cluster = await RealCluster.start();
  await cluster.makeNamespace(NAMESPACE);
  stopMarking = cluster.markReady(NAMESPACE);
  const keys = KeyStore.open(folder);
  keys.create({ org: 'acme' });
  keys.close();
  await deployed('private', 1024, 'the first');
  await deployed('public', 2048, 'the second');
});
test.after(async () => {
  await stopMarking();
  await cluster?.close();
  fs.rmSync(folder, { recursive: true });
});

function chasqui(...args: string[]) {
  return runCli([...args, ...WHERE], { ...cluster.environment, CHASQUI_HOME: folder });
}

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await chasqui(...args);
  assert.is(code, 0, stderr);
  return stdout;
}

async function deployed(auth: string, context: number, message: string): Promise<void> {
  const script = path.join(folder, 'app.mjs');
  const options = JSON.stringify({ model: 'demo', machine: { memory: '1Gi' }, auth, context });
  fs.writeFileSync(script, `import { app } from 'chasqui/cloud';\nexport const chat = app(${options});\n`);
  const how = ['--to', 'kubernetes', '--image', 'chasqui:1', '--message', message, '--weights-size', '1Gi'];
  await said('deploy', `${script}::chat`, ...how);
}

async function status() {
  return JSON.parse(await said('apps', 'status', 'chat', '--json'));
}

test('the status has the revisions that there were, with what was said of them', async () => {
  const { state, ready, pods, revisions } = await status();
  assert.equal([state, ready, pods.length], ['ready', 1, 1]);
  assert.equal(
    revisions.map((each: Record<string, unknown>) => [each.number, each.message, each.pods]),
    [
      [1, 'the first', 0],
      [2, 'the second', 1],
    ],
  );
  assert.match(await said('apps', 'list'), /^acme\/chat\s+ready\s+\w+\s+1 of 1$/m);
});

test('a rollback brings back the pods of before, and the keys that they need', async () => {
  const [first] = (await status()).revisions;
  const keys = `/api/v1/namespaces/${NAMESPACE}/secrets/acme-chat-keys`;
  assert.is(await cluster.find(keys), null);
  assert.match(await said('apps', 'rollback', 'chat'), /^acme\/chat is ready, 1 of 1 pods\.$/m);
  const { revision, pods } = await status();
  assert.is(revision, first.revision);
  assert.equal(
    pods.map((pod: { revision: string }) => pod.revision),
    [first.revision],
  );
  assert.is.not(await cluster.find(keys), null);
  await said('apps', 'rollback', 'chat', '--to', '2');
  assert.is.not((await status()).revision, first.revision);
});

test('a restart exchanges the pods', async () => {
  const before = await cluster.list(PODS);
  await said('apps', 'restart', 'chat');
  const after = await cluster.list(PODS);
  assert.is(after.length, 1);
  assert.is.not(after[0]?.metadata.name, before[0]?.metadata.name);
});

test('pods become more, and none', async () => {
  await said('apps', 'scale', 'chat', '--min', '2');
  await until(async () => (await status()).ready === 2, 'two pods');
  await said('apps', 'scale', 'chat', '--min', '0');
  await until(async () => (await status()).state === 'asleep', 'no pod');
  await said('apps', 'scale', 'chat', '--min', '1');
});

test('after a rollback a deployment takes its fields over when it is told to', async () => {
  // Those that were gone back to have new numbers.
  const [oldest] = (await status()).revisions;
  await said('apps', 'rollback', 'chat', '--to', String(oldest.number));
  const script = path.join(folder, 'app.mjs');
  const how = ['--to', 'kubernetes', '--image', 'chasqui:2', '--weights-size', '1Gi'];
  const { code, stderr } = await chasqui('deploy', `${script}::chat`, ...how);
  assert.is(code, 2);
  assert.match(stderr, /Use --take-over to overwrite them.*conflict/s);
  await said('deploy', `${script}::chat`, ...how, '--take-over');
  assert.is((await status()).state, 'ready');
});

test('events are those of the controllers', async () => {
  assert.match(
    await said('apps', 'events', 'chat'),
    /Deployment\/acme-chat {2}ScalingReplicaSet: Scaled up replica set/,
  );
});

test('nothing is left of an app that is deleted, but for its weights', async () => {
  assert.match(await said('apps', 'delete', 'chat'), /persistentvolumeclaim\/acme-chat-weights stays/);
  const lists = [
    PODS,
    `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`,
    `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
    `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`,
    `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`,
    `/api/v1/namespaces/${NAMESPACE}/services`,
    `/api/v1/namespaces/${NAMESPACE}/secrets`,
  ];
  for (const list of lists)
    await until(async () => (await cluster.list(list)).length === 0, `an empty list at ${list}`);
  await said('apps', 'delete', 'chat', '--weights');
  assert.is((await chasqui('apps', 'status', 'chat')).code, 5);
});

test.run();
