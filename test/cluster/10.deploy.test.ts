// `chasqui deploy` to Kubernetes' own API: what it takes, refuses and keeps.
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { runCli } from '../support/child.js';
import { installAddOns } from '../support/kubernetes/add-ons.js';
import { type Known, RealCluster } from '../support/kubernetes/real-cluster.js';
import { until } from '../support/until.js';

const test = suite('cluster: deploy');
const folder = fs.mkdtempSync(path.join(tmpdir(), 'chasqui-deploy-'));
const PRIVATE = { model: 'demo', machine: { memory: '1Gi' } };
const PUBLIC = { ...PRIVATE, auth: 'public' };
let cluster: RealCluster;
let namespace = '';
let number = 0;
let keyId = '';

test.before(async () => {
  cluster = await RealCluster.start();
  const keys = KeyStore.open(folder);
  keyId = keys.create({ org: 'acme' }).id;
  keys.create({ org: 'acme' });
  keys.close();
});
test.after(async () => {
  await cluster?.close();
  fs.rmSync(folder, { recursive: true });
});
test.before.each(async () => {
  number += 1;
  namespace = `models-${number}`;
  await cluster.makeNamespace(namespace);
});

function chasqui(...args: string[]) {
  return runCli(args, { ...cluster.environment, CHASQUI_HOME: folder });
}

/** Does not wait for pods unless it is told to. */
async function deploy(options: object, args: readonly string[], { detach = true } = {}) {
  const script = path.join(folder, 'app.mjs');
  const text = `import { app } from 'chasqui/cloud';\nexport const chat = app(${JSON.stringify(options)});\n`;
  fs.writeFileSync(script, text);
  const where = ['--to', 'kubernetes', '--org', 'acme', '--context', 'admin', '--namespace', namespace];
  return chasqui(
    'deploy',
    `${script}::chat`,
    ...where,
    '--image',
    'chasqui:1',
    ...(detach ? ['--detach'] : []),
    ...args,
  );
}

async function deployed(options: object, ...args: string[]): Promise<void> {
  const { code, stderr } = await deploy(options, args);
  assert.equal([code, stderr], [0, '']);
}

const urlOf = {
  deployment: () => `/apis/apps/v1/namespaces/${namespace}/deployments/acme-chat`,
  keys: () => `/api/v1/namespaces/${namespace}/secrets/acme-chat-keys`,
  route: () => `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes/acme-chat`,
  pods: () => `/api/v1/namespaces/${namespace}/pods`,
};

async function deployment(): Promise<Known> {
  return cluster.ask('GET', urlOf.deployment());
}

async function keysThere(): Promise<string[]> {
  const { data } = await cluster.ask('GET', urlOf.keys());
  const { keys } = JSON.parse(Buffer.from(data['keys.json'], 'base64').toString());
  return keys.map(({ id }: { id: string }) => id);
}

test('an app comes to life where pods have to follow the strictest standard', async () => {
  const stop = cluster.markReady(namespace);
  const { code, stdout, stderr } = await deploy(PRIVATE, ['--weights-size', '1Gi'], { detach: false });
  await stop();
  assert.is(code, 0, stderr);
  assert.match(stdout, /^acme\/chat is ready, 1 of 1 pods\.$/m);
  assert.is((await cluster.list(urlOf.pods())).length, 1);
  // Verify that the cluster enforces this pod security standard.
  const pod = { metadata: { name: 'other' }, spec: { containers: [{ name: 'other', image: 'other' }] } };
  await cluster.ask('POST', urlOf.pods(), pod).then(
    () => assert.unreachable('a pod without any limits was taken'),
    (error) => assert.match(error.message, /violates PodSecurity/),
  );
});

test('deploying the same revision again changes nothing', async () => {
  await deployed(PRIVATE);
  const before = [await deployment(), await cluster.ask('GET', urlOf.keys())];
  await deployed(PRIVATE);
  const after = [await deployment(), await cluster.ask('GET', urlOf.keys())];
  assert.equal(
    after.map(({ metadata }) => metadata.generation),
    before.map(({ metadata }) => metadata.generation),
  );
  assert.is(after[1]?.metadata.resourceVersion, before[1]?.metadata.resourceVersion);
});

test('a kind that the cluster lacks is refused before anything is there', async () => {
  for (const [args, says] of [
    [['--gateway', 'web'], /--gateway requires the Gateway API, .*kind HTTPRoute/],
    [['--scale', 'keda-http', '--route-host', 'a.example'], /no kind InterceptorRoute: .* --scale needs it/],
    [
      ['--routing', 'inferencepool', '--endpoint-picker', 'picker:9002'],
      /no kind InferencePool: .* --routing needs it/,
    ],
  ] as const) {
    const { code, stderr } = await deploy(PUBLIC, args);
    assert.is(code, 2);
    assert.match(stderr, says);
    assert.is(await cluster.find(urlOf.deployment()), null);
  }
});

test('a field owned by another program blocks the deployment unless it is taken over', async () => {
  await deployed(PUBLIC);
  const scaled = await chasqui('apps', 'scale', 'chat', '--min', '3', '--org', 'acme', '--namespace', namespace);
  assert.is(scaled.code, 0, scaled.stderr);
  const { code, stderr } = await deploy(PRIVATE, []);
  assert.is(code, 2);
  assert.match(stderr, /Use --take-over to overwrite them\. .*conflict with "kubectl".*: \.spec\.replicas\n$/s);
  assert.is(await cluster.find(urlOf.keys()), null);
  await deployed(PRIVATE, '--take-over');
  assert.is((await deployment()).spec.replicas, 1);
});

test('errors of the API are shown verbatim, and nothing has changed', async () => {
  await deployed(PRIVATE, '--weights-size', '2Gi');
  const keys = KeyStore.open(folder);
  keys.revoke(keyId);
  keys.close();
  const before = await keysThere();
  assert.ok(before.includes(keyId));
  // A volume cannot become smaller.
  const smaller = await deploy(PRIVATE, ['--weights-size', '1Gi']);
  assert.is(smaller.code, 3);
  assert.match(smaller.stderr, /PersistentVolumeClaim "acme-chat-weights" is invalid/);
  assert.equal(await keysThere(), before);
  await deployed(PRIVATE, '--weights-size', '2Gi');
  assert.not.ok((await keysThere()).includes(keyId));
  const nobody = await deploy(PRIVATE, ['--context', 'nobody']);
  assert.is(nobody.code, 3);
  assert.match(nobody.stderr, /User "nobody" cannot \w+ resource/);
  const nowhere = await deploy(PRIVATE, ['--namespace', 'nowhere']);
  assert.match(nowhere.stderr, /namespaces "nowhere" not found/);
});

test('a name that something else has is refused', async () => {
  const spec = { ports: [{ port: 80 }] };
  await cluster.ask('POST', `/api/v1/namespaces/${namespace}/services`, { metadata: { name: 'acme-chat' }, spec });
  const { code, stderr } = await deploy(PUBLIC, []);
  assert.is(code, 2);
  assert.match(stderr, /has a Service acme-chat that chasqui does not manage/);
});

test('pods that a quota keeps from being made are the reason that is shown', async () => {
  const spec = { hard: { 'limits.memory': '512Mi' } };
  await cluster.ask('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, { metadata: { name: 'small' }, spec });
  await deployed(PUBLIC);
  const where = ['chat', '--org', 'acme', '--namespace', namespace, '--json'];
  let status: Known | null = null;
  await until(async () => {
    status = JSON.parse((await chasqui('apps', 'status', ...where)).stdout);
    return status?.reason !== null;
  }, 'a reason why there is no pod');
  const { state, reason } = status as unknown as Known;
  assert.is(state, 'deploying');
  assert.match(reason, /exceeded quota: small, requested: limits.memory=1Gi/);
});

test('objects of add-ons are kept as they are written, and removed when they are no longer needed', async () => {
  await installAddOns(cluster);
  const routed = ['--gateway', 'gateways/web', '--route-host', 'models.example'];
  const picked = ['--routing', 'inferencepool', '--endpoint-picker', 'picker:9002'];
  await until(async () => (await deploy(PUBLIC, [...routed, ...picked])).code === 0, 'the API to know the new kinds');
  const route = await cluster.ask('GET', urlOf.route());
  assert.equal(route.spec.hostnames, ['models.example']);
  assert.is(route.spec.rules[0].backendRefs[0].kind, 'InferencePool');
  await deployed(PUBLIC, '--scale', 'keda-http', '--route-host', 'models.example');
  assert.is(await cluster.find(urlOf.route()), null);
  const scaler = await cluster.ask('GET', `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/acme-chat`);
  assert.equal(scaler.spec.scaleTargetRef, { name: 'acme-chat' });
  const { code, stdout } = await deploy(PUBLIC, []);
  assert.is(code, 0);
  assert.match(stdout, /scaledobject\.keda\.sh\/acme-chat removed/);
});

test('a part of the API that is out of order keeps nobody from deploying', async () => {
  await cluster.ask('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { name: 'metrics', namespace: 'kube-system' },
      insecureSkipTLSVerify: true,
    },
  });
  await deployed(PRIVATE);
  const { code, stdout } = await deploy(PUBLIC, []);
  assert.is(code, 0);
  assert.match(stdout, /secret\/acme-chat-keys removed/);
});

test.run();
