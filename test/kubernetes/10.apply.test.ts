// kubectl itself against an API that keeps what it is given.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { applyObjects, deleteApp } from '../../ts/cloud/kubernetes/apply.js';
import { kubectl } from '../../ts/cloud/kubernetes/kubectl.js';
import { toObjects } from '../../ts/cloud/kubernetes/objects.js';
import { readStatus } from '../../ts/cloud/kubernetes/status.js';
import { FakeCluster } from '../support/kubernetes/fake-cluster.js';
import { LARGE, SMALL } from '../unit/cloud/kubernetes/apps.js';

const test = suite('kubernetes: apply');
const here = { context: null, namespace: null };
const routed = { ...LARGE, scaler: null, endpointPicker: null };
let cluster: FakeCluster;

async function rejection(promise: Promise<unknown>): Promise<{ code?: string; message: string }> {
  return promise.then(
    () => assert.unreachable('it did not fail'),
    (error) => error,
  ) as Promise<{ message: string }>;
}

const before = { ...process.env };

test.before.each(async () => {
  cluster = await FakeCluster.start();
  Object.assign(process.env, cluster.environment);
});
test.after.each(async () => {
  await cluster.close();
  process.env.KUBECONFIG = before.KUBECONFIG;
});

test('everything arrives as it was written, and a second time changes nothing', async () => {
  const objects = toObjects(routed);
  const first = await applyObjects(here, objects);
  assert.is(first.applied.length, objects.length);
  assert.equal(first.removed, []);
  for (const object of objects) {
    const metadata = { ...object.metadata, namespace: 'models' };
    assert.equal(cluster.objects.get(`${object.kind}/${object.metadata.name}`), { ...object, metadata });
  }
  assert.equal(await applyObjects(here, objects), first);
});

test('objects missing from a revision are removed, and those of others stay', async () => {
  await applyObjects(here, toObjects(routed));
  await applyObjects(here, toObjects({ ...routed, name: 'other' }));
  const { removed, kept } = await applyObjects(here, toObjects(SMALL));
  assert.equal(removed.sort(), ['httproute.gateway.networking.k8s.io/acme-chat', 'secret/acme-chat-keys']);
  // Rollback targets need it.
  assert.equal(kept, ['persistentvolumeclaim/acme-chat-weights']);
  assert.ok(cluster.objects.has('HTTPRoute/acme-other'));
});

test('a name that something else has is refused before anything changes', async () => {
  const metadata = { name: 'acme-chat', labels: { team: 'shop' } };
  cluster.objects.set('Service/acme-chat', { apiVersion: 'v1', kind: 'Service', metadata });
  const foreign = await rejection(applyObjects(here, toObjects(SMALL)));
  assert.is(foreign.code, 'invalid_options');
  assert.match(foreign.message, /Service acme-chat that chasqui does not manage/);
  cluster.objects.clear();
  await applyObjects(here, toObjects({ ...SMALL, org: 'acme', name: 'two-chat' }));
  const same = await rejection(applyObjects(here, toObjects({ ...SMALL, org: 'acme-two', name: 'chat' })));
  assert.match(same.message, /uses the name acme-two-chat of acme-two\/chat for acme\/two-chat/);
  assert.ok(!cluster.requests.some((request) => request.startsWith('DELETE')));
});

test('fields of another manager are a conflict, unless they are taken over', async () => {
  const objects = toObjects(SMALL);
  await applyObjects(here, objects);
  cluster.owned.add('Deployment/acme-chat');
  const conflict = await rejection(applyObjects(here, objects));
  assert.is(conflict.code, 'deployment_refused');
  assert.match(conflict.message, /Use `takeOver` to overwrite them. .*conflict with "autoscaler": .spec.replicas$/);
  await applyObjects(here, objects, { force: true });
});

test('a cluster without add-ons takes an app that needs none', async () => {
  await cluster.close();
  cluster = await FakeCluster.start({ addOns: false });
  Object.assign(process.env, cluster.environment);
  assert.equal((await applyObjects(here, toObjects(SMALL))).removed, []);
  const kept = structuredClone([...cluster.objects]);
  const lacking = await rejection(applyObjects(here, toObjects({ ...routed, auth: 'private' })));
  assert.is(lacking.code, 'invalid_options');
  assert.match(lacking.message, /`gateway` requires the Gateway API, .*kind HTTPRoute/);
  assert.equal([...cluster.objects], kept);
});

test('a refused object changes no other object', async () => {
  await applyObjects(here, toObjects(SMALL));
  cluster.owned.add('Deployment/acme-chat');
  await rejection(applyObjects(here, toObjects({ ...SMALL, weights: { size: '1Gi', storageClass: null } })));
  assert.not.ok(cluster.objects.has('PersistentVolumeClaim/acme-chat-weights'));
});

test('a part of the API that is out of order keeps nobody from applying and deleting', async () => {
  cluster.brokenGroup = 'metrics.k8s.io/v1beta1';
  await applyObjects(here, toObjects(routed));
  const { removed } = await applyObjects(here, toObjects(SMALL));
  assert.ok(removed.includes('secret/acme-chat-keys'));
  await deleteApp(here, 'acme-chat', { weights: true });
  assert.is(cluster.objects.size, 0);
});

test('a refusal says what the cluster said', async () => {
  cluster.failures = [{ status: 403, reason: 'Forbidden', message: 'nobody may not patch serviceaccounts' }];
  const error = await rejection(applyObjects(here, toObjects(SMALL)));
  assert.is(error.code, 'cluster_failed');
  assert.match(error.message, /nobody may not patch serviceaccounts/);
});

test('a context that does not exist is named', async () => {
  const error = await rejection(kubectl({ context: 'elsewhere', namespace: null }, ['get', 'pods']));
  assert.match(error.message, /elsewhere/);
});

test('deleting an app keeps its weights, unless they are to go as well', async () => {
  await applyObjects(here, toObjects(routed));
  const { kept } = await deleteApp(here, 'acme-chat');
  assert.equal(kept, ['persistentvolumeclaim/acme-chat-weights']);
  assert.equal([...cluster.objects.keys()], ['PersistentVolumeClaim/acme-chat-weights']);
  await deleteApp(here, 'acme-chat', { weights: true });
  assert.is(cluster.objects.size, 0);
});

test('the status of an app is read from its deployment and pods', async () => {
  assert.is(await readStatus(here, 'acme-chat'), null);
  await applyObjects(here, toObjects(SMALL));
  const deployment = cluster.objects.get('Deployment/acme-chat') as Record<string, unknown>;
  deployment.status = { readyReplicas: 1, updatedReplicas: 1 };
  const labels = { 'chasqui.dev/app': 'acme-chat' };
  cluster.objects.set('Pod/acme-chat-1', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'acme-chat-1', labels },
    status: { phase: 'Running', containerStatuses: [{ ready: true, restartCount: 2 }] },
  });
  const status = await readStatus(here, 'acme-chat');
  assert.is(status?.state, 'ready');
  assert.equal(status?.pods, [{ name: 'acme-chat-1', state: 'ready', reason: null, restarts: 2, revision: null }]);
});

test.run();
