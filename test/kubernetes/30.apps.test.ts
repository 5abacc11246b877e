// `chasqui apps … --to kubernetes`: looking at apps in a cluster, and changing them, by kubectl.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { callCli } from '../support/call-cli.js';
import { FakeCluster, type Stored } from '../support/kubernetes/fake-cluster.js';

const test = suite('kubernetes: apps');
const NAME = 'acme-chat';
let cluster: FakeCluster;
let folder = '';
/** The objects of an app that was deployed once. */
let deployed: [string, Stored][] = [];

test.before(async () => {
  cluster = await FakeCluster.start();
  folder = mkdtempSync(path.join(tmpdir(), 'chasqui-apps-'));
  const script = path.join(folder, 'app.mjs');
  const options = "{ model: 'demo', auth: 'public', machine: { memory: '1Gi' }, scale: { min: 1 } }";
  writeFileSync(script, `import { app } from 'chasqui/cloud';\nexport const chat = app(${options});\n`);
  const target = ['--to', 'kubernetes', '--org', 'acme', '--image', 'chasqui:1', '--detach'];
  const { code, stderr } = await callCli(['deploy', `${script}::chat`, ...target], variables());
  assert.is(code, 0, stderr);
  deployed = structuredClone([...cluster.objects]);
});
test.before.each(() => {
  cluster.reset(structuredClone(deployed));
});
test.after(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true });
});

function variables() {
  return { ...cluster.environment, CHASQUI_HOME: folder };
}

function apps(command: string, ...args: string[]) {
  return callCli(['apps', command, ...args, '--org', 'acme'], { ...variables(), COLUMNS: '80' });
}

async function json(command: string, ...args: string[]) {
  const { code, stdout, stderr } = await apps(command, ...args, '--to', 'kubernetes', '--json');
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

function deployment(): Stored {
  return cluster.objects.get(`Deployment/${NAME}`) as Stored;
}

/** As a Deployment's controller does it: all pods of the present template are there at once. */
function becomesReady(): void {
  const object = deployment();
  const { replicas = 1 } = object.spec as { replicas?: number };
  object.status = { readyReplicas: replicas, updatedReplicas: replicas };
}

function addPod(name: string, log: string): void {
  const metadata = { name, namespace: 'models', labels: { 'chasqui.dev/app': NAME } };
  const status = { phase: 'Running', containerStatuses: [{ name: 'runner', ready: true, restartCount: 0 }] };
  const spec = { initContainers: [{ name: 'fetch' }], containers: [{ name: 'runner' }] };
  cluster.objects.set(`Pod/${name}`, { apiVersion: 'v1', kind: 'Pod', metadata, spec, status });
  cluster.logs.set(name, log);
}

/** What a Deployment's controller keeps of each template that it has had. */
function addReplicaSet(number: number, image: string): void {
  const { spec, metadata } = deployment();
  const uid = 'of-the-deployment';
  Object.assign(metadata, { uid, annotations: { 'deployment.kubernetes.io/revision': '2' } });
  const template = structuredClone(spec?.template) as { metadata: { labels: object }; spec: { containers: object[] } };
  Object.assign(template.spec.containers[0] as object, { image });
  Object.assign(template.metadata.labels, { 'pod-template-hash': `h${number}` });
  const name = `${NAME}-h${number}`;
  cluster.objects.set(`ReplicaSet/${name}`, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name,
      labels: template.metadata.labels as Record<string, string>,
      ...{ uid: name, namespace: 'models', annotations: { 'deployment.kubernetes.io/revision': String(number) } },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: NAME, uid, controller: true }],
    } as Stored['metadata'],
    spec: { replicas: number === 2 ? 1 : 0, template, selector: { matchLabels: template.metadata.labels } },
    status: { replicas: number === 2 ? 1 : 0 },
  });
}

test('apps are listed by what deployed them, with names and states', async () => {
  becomesReady();
  cluster.objects.set('Deployment/other', {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'other' }, spec: {} },
  });
  const listed = await json('list');
  assert.equal(
    listed.map(({ org, app, state, ready, wanted, image }: Record<string, unknown>) => {
      return { org, app, state, ready, wanted, image };
    }),
    [{ org: 'acme', app: 'chat', state: 'ready', ready: 1, wanted: 1, image: 'chasqui:1' }],
  );
  const { stdout } = await apps('list', '--to', 'kubernetes');
  assert.match(stdout, /^APP\s+STATE\s+REVISION\s+PODS\nacme\/chat\s+ready\s+[0-9a-f]{12}\s+1 of 1\n$/);
});

test('the status has pods and the revisions that the cluster can go back to', async () => {
  addPod(`${NAME}-1`, '');
  addReplicaSet(1, 'chasqui:0');
  addReplicaSet(2, 'chasqui:1');
  const status = await json('status', 'chat');
  assert.is(status.state, 'deploying');
  assert.is(status.pods[0].state, 'ready');
  assert.equal(
    status.revisions.map(({ number, pods }: Record<string, unknown>) => [number, pods]),
    [
      [1, 0],
      [2, 1],
    ],
  );
  const { stdout } = await apps('status', 'chat', '--context', 'fake');
  assert.match(stdout, /^app\s+acme\/chat$/m);
  assert.match(stdout, /^acme-chat-1\s+ready/m);
});

test('until the cluster has seen a change, its word about the time before does not count', async () => {
  becomesReady();
  Object.assign(deployment().metadata, { generation: 2 });
  Object.assign(deployment().status as object, { observedGeneration: 1 });
  assert.is((await json('status', 'chat')).state, 'deploying');
  Object.assign(deployment().status as object, { observedGeneration: 2 });
  assert.is((await json('status', 'chat')).state, 'ready');
});

test('the status shows the progress of a fetching pod', async () => {
  addPod(`${NAME}-1`, '');
  const pod = cluster.objects.get(`Pod/${NAME}-1`) as Stored;
  const fetcher = { name: 'fetch', ready: false, restartCount: 0, state: { running: {} } };
  pod.status = { phase: 'Pending', initContainerStatuses: [fetcher] };
  cluster.logs.set(`${NAME}-1/fetch`, 'fetching weights 1 of 2, 99 %\nfetching weights 2 of 2, 43 %\n');
  const { pods } = await json('status', 'chat');
  assert.equal([pods[0].state, pods[0].reason], ['fetching', 'fetching weights 2 of 2, 43 %']);
});

test('tables fit into 80 columns, and what pods say stands under them', async () => {
  addPod(`${NAME}-${'long-'.repeat(9)}5d9f7c8b6d-x2x4z`, '');
  addPod(`${NAME}-2`, '');
  const pod = cluster.objects.get(`Pod/${NAME}-2`) as Stored;
  const message = 'there is no such image';
  pod.status = {
    ...{ phase: 'Pending', initContainerStatuses: [] },
    containerStatuses: [{ ready: false, restartCount: 0, state: { waiting: { reason: 'ErrImagePull', message } } }],
  };
  addReplicaSet(2, 'chasqui:1');
  const { stdout } = await apps('status', 'chat', '--to', 'kubernetes');
  assert.equal(
    stdout.split('\n').filter((line) => line.length > 80),
    [],
  );
  assert.match(stdout, /^acme-chat-2 +pending .*\n {2}there is no such image$/m);
});

test('logs say which pod a line is from', async () => {
  addPod(`${NAME}-1`, 'one\n');
  addPod(`${NAME}-2`, 'two [as it is] \nthree\n');
  cluster.logs.set(`${NAME}-2/fetch`, 'fetching weights 100 %\n');
  const { code, stdout, stderr } = await apps('logs', 'chat', '--to', 'kubernetes', '--json');
  assert.is(code, 0, stderr);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(
    lines.sort((one, other) => one.text.localeCompare(other.text)),
    [
      { runner: `${NAME}-2`, container: 'fetch', text: 'fetching weights 100 %' },
      { runner: `${NAME}-1`, container: 'runner', text: 'one' },
      { runner: `${NAME}-2`, container: 'runner', text: 'three' },
      { runner: `${NAME}-2`, container: 'runner', text: 'two [as it is] ' },
    ],
  );
});

test("control characters of a pod's output are escaped", async () => {
  addPod(`${NAME}-1`, '\x1b]52;c;ZXZpbA==\x07 \x1b]0;title\x07\u009b2J\n');
  const { code, stdout, stderr } = await apps('logs', 'chat', '--to', 'kubernetes');
  assert.is(code, 0, stderr);
  assert.is(stdout, `${NAME}-1  ?]52;c;ZXZpbA==? ?]0;title??2J\n`);
});

test('scaling changes the number of pods, and nothing else of the deployment', async () => {
  const before = structuredClone(deployment().spec);
  assert.equal(await json('scale', 'chat', '--min', '3'), { app: 'chat', org: 'acme', wanted: 3 });
  assert.equal(deployment().spec, { ...before, replicas: 3 });
});

test('options without meaning for a cluster are refused', async () => {
  const { code, stderr } = await apps('scale', 'chat', '--max', '3', '--to', 'kubernetes');
  assert.is(code, 2);
  assert.match(stderr, /--min/);
});

test('a restart gives the pods a new template, and waits until they are ready', async () => {
  cluster.onChange = () => becomesReady();
  assert.equal(await json('restart', 'chat'), { app: 'chat', org: 'acme', state: 'ready', ready: 1, wanted: 1 });
  const { template } = deployment().spec as { template: { metadata: { annotations: object } } };
  assert.ok('kubectl.kubernetes.io/restartedAt' in template.metadata.annotations);
});

test('a rollback brings the template of an earlier revision back', async () => {
  addReplicaSet(1, 'chasqui:0');
  addReplicaSet(2, 'chasqui:1');
  cluster.onChange = () => becomesReady();
  const { code, stdout, stderr } = await apps('rollback', 'chat', '--to', '1', '--namespace', 'models', '--json');
  assert.is(code, 0, stderr);
  assert.is(JSON.parse(stdout).state, 'ready');
  const { template } = deployment().spec as { template: { spec: { containers: { image: string }[] } } };
  assert.is(template.spec.containers[0]?.image, 'chasqui:0');
});

test('a rollback from public to private brings the keys, which the public revision took away', async () => {
  addReplicaSet(1, 'chasqui:0');
  addReplicaSet(2, 'chasqui:1');
  const template = cluster.objects.get(`ReplicaSet/${NAME}-h1`)?.spec?.template as { spec: { volumes: object[] } };
  template.spec.volumes = [{ name: 'keys', secret: { secretName: `${NAME}-keys` } }];
  cluster.onChange = () => becomesReady();
  const rollBack = () => apps('rollback', 'chat', '--namespace', 'models', '--json');
  const refused = await rollBack();
  assert.is(refused.code, 2, refused.stderr);
  assert.match(refused.stderr, /No API key of organisation `acme` covers app `chat`/);
  const { template: now } = deployment().spec as { template: { spec: { containers: { image: string }[] } } };
  assert.is(now.spec.containers[0]?.image, 'chasqui:1', 'nothing was changed');
  const keys = KeyStore.open(folder);
  keys.create({ org: 'acme', app: 'chat' });
  keys.close();
  const { code, stderr } = await rollBack();
  assert.is(code, 0, stderr);
  const secret = cluster.objects.get(`Secret/${NAME}-keys`) as Stored & { stringData?: { 'keys.json': string } };
  assert.is(JSON.parse(secret.stringData?.['keys.json'] ?? '{}').keys?.length, 1);
  assert.is(secret.metadata.labels?.['chasqui.dev/app'], NAME);
});

test('deleting removes what the app has, and says what', async () => {
  const { removed } = await json('delete', 'chat');
  assert.ok(removed.includes('deployment.apps/acme-chat'));
  assert.is(cluster.objects.size, 0);
});

test('the volume with weights can be deleted after its app', async () => {
  cluster.objects.clear();
  const metadata = { name: `${NAME}-weights`, labels: { 'chasqui.dev/app': NAME } };
  cluster.objects.set(`PersistentVolumeClaim/${NAME}-weights`, {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata },
  });
  const { kept } = await json('delete', 'chat');
  assert.equal(kept, [`persistentvolumeclaim/${NAME}-weights`]);
  const { removed } = await json('delete', 'chat', '--weights');
  assert.equal(removed, [`persistentvolumeclaim/${NAME}-weights`]);
  assert.is(cluster.objects.size, 0);
});

test('an app that is not there has an exit code of its own', async () => {
  for (const [command = '', ...more] of [['status'], ['logs'], ['restart'], ['delete'], ['scale', '--min', '1']]) {
    const { code, stderr } = await apps(command, 'nothing', ...more, '--to', 'kubernetes');
    assert.is(code, 5, command);
    assert.match(stderr, /no app acme\/nothing/);
  }
});

test('errors of the cluster are shown verbatim', async () => {
  cluster.failures = [{ status: 403, reason: 'Forbidden', message: 'nobody may not patch deployments/scale' }];
  const { code, stderr } = await apps('scale', 'chat', '--min', '2', '--to', 'kubernetes');
  assert.is(code, 3);
  assert.match(stderr, /nobody may not patch deployments\/scale/);
});

function addEvent(name: string, [kind, of]: [string, string], reason: string, more: object = {}): void {
  cluster.objects.set(`Event/${name}`, {
    ...{ apiVersion: 'v1', kind: 'Event', type: 'Warning', reason, message: `${reason} of ${of}`, count: 1 },
    metadata: { name, ...{ uid: name, namespace: 'models', creationTimestamp: '2026-11-01T10:00:00Z' } },
    involvedObject: { kind, name: of, namespace: 'models' },
    ...more,
  });
}

test('events are those of the app, of pods that are gone as well, the latest last', async () => {
  addPod(`${NAME}-odd`, '');
  addReplicaSet(1, 'chasqui:1');
  addEvent('e1', ['Pod', `${NAME}-h1-x2x4z`], 'BackOff', { count: 7, lastTimestamp: '2026-11-01T12:00:00Z' });
  addEvent('e2', ['Pod', `${NAME}-odd`], 'Unhealthy', {
    series: { count: 3, lastObservedTime: '2026-11-01T11:00:00Z' },
  });
  addEvent('e3', ['Deployment', NAME], 'ScalingReplicaSet', { type: 'Normal' });
  // An event of another app with the same name prefix.
  addEvent('e4', ['Pod', `${NAME}-two-h1-x`], 'BackOff');
  addEvent('e6', ['Pod', `${NAME}-h1-x2x4z-x2x4z`], 'BackOff');
  addEvent('e5', ['Deployment', `${NAME}-two`], 'ScalingReplicaSet');
  const { code, stdout, stderr } = await apps('events', 'chat', '--to', 'kubernetes');
  assert.equal([code, stderr], [0, '']);
  assert.equal(stdout.trimEnd().split('\n'), [
    `2026-11-01 10:00:00  Deployment/${NAME}  ScalingReplicaSet: ScalingReplicaSet of ${NAME}`,
    `2026-11-01 11:00:00  Pod/${NAME}-odd  warning: Unhealthy (3 times): Unhealthy of ${NAME}-odd`,
    `2026-11-01 12:00:00  Pod/${NAME}-h1-x2x4z  warning: BackOff (7 times): BackOff of ${NAME}-h1-x2x4z`,
  ]);
  const read = await apps('events', 'chat', '--to', 'kubernetes', '--json');
  assert.match(read.stdout, /"reason": ?"Unhealthy"/);
  const none = await apps('events', 'none', '--to', 'kubernetes');
  assert.is(none.code, 5);
  assert.match(none.stderr, /no app acme\/none/);
});

test.run();
