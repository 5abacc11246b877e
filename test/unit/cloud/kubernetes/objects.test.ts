// The objects of an app, checked against the schemas of Kubernetes 1.27 where it has one for their kind.
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { KubernetesApp, KubernetesObject } from '../../../../ts/cloud/kubernetes/kubernetes-app.js';
import { toObjects } from '../../../../ts/cloud/kubernetes/objects.js';
import { LARGE, SMALL } from './apps.js';

const test = suite('kubernetes objects');

const MODELS: Record<string, new (data: never) => { validate(): void }> = {
  Deployment,
  NetworkPolicy,
  PodDisruptionBudget,
  PersistentVolumeClaim,
  Secret,
  Service,
  ServiceAccount,
};

function kindsOf(app: KubernetesApp): string[] {
  return toObjects(app).map(({ kind }) => kind);
}

function objectOf(app: KubernetesApp, kind: string): KubernetesObject {
  return toObjects(app).find((object) => object.kind === kind) as KubernetesObject;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes have fields of every kind
function specOf(app: KubernetesApp, kind: string): any {
  return objectOf(app, kind).spec;
}

test('an app has what it needs and nothing of add-ons', () => {
  const always = ['ServiceAccount', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'];
  assert.equal(kindsOf(SMALL), always);
  assert.equal(
    kindsOf(LARGE).filter((kind) => !always.includes(kind)),
    ['Secret', 'PersistentVolumeClaim', 'InferencePool', 'HTTPRoute', 'InterceptorRoute', 'ScaledObject'],
  );
});

test('Kubernetes takes them', () => {
  for (const app of [SMALL, LARGE]) {
    for (const object of toObjects(app)) {
      const Model = MODELS[object.kind];
      if (Model !== undefined) new Model(object as never).validate();
    }
  }
});

test('its schemas refuse what is wrong', () => {
  const wrong = structuredClone(objectOf(SMALL, 'Deployment'));
  (wrong.spec as { progressDeadlineSeconds: unknown }).progressDeadlineSeconds = 'long';
  assert.throws(() => new Deployment(wrong as never).validate());
});

test('objects of the same app find each other', () => {
  const labels = specOf(LARGE, 'Deployment').template.metadata.labels;
  for (const selector of [
    specOf(LARGE, 'Deployment').selector.matchLabels,
    specOf(LARGE, 'Service').selector,
    specOf(LARGE, 'PodDisruptionBudget').selector.matchLabels,
    specOf(LARGE, 'NetworkPolicy').podSelector.matchLabels,
    specOf(LARGE, 'InferencePool').selector.matchLabels,
  ]) {
    for (const [name, value] of Object.entries(selector)) assert.is(labels[name], value, name);
  }
  assert.is(specOf(LARGE, 'Service').ports[0].targetPort, 'http');
  assert.is(specOf(LARGE, 'Deployment').template.spec.containers[0].ports[0].name, 'http');
});

test('a private app reads its keys from the mounted secret, and holds no secret of a key', () => {
  const [{ args, volumeMounts }] = specOf(LARGE, 'Deployment').template.spec.containers;
  const file = args[args.indexOf('--keys-file') + 1];
  const mount = volumeMounts.find(({ name }: { name: string }) => name === 'keys');
  assert.is(file, `${mount.mountPath}/keys.json`);
  assert.is(mount.readOnly, true);
  const data = objectOf(LARGE, 'Secret').stringData as Record<string, string>;
  assert.equal(JSON.parse(data['keys.json'] as string), { keys: LARGE.keys });
});

test("the fetch container has only the hub's secrets, the runner all others", () => {
  const { initContainers, containers } = specOf(LARGE, 'Deployment').template.spec;
  const variables = (container: { env: { name: string }[] }) => container.env.map(({ name }) => name);
  assert.equal(variables(initContainers[0]), ['HF_TOKEN']);
  assert.equal(variables(containers[0]), ['OTHER']);
});

test('what fetches is confined as the runner is, has its memory and no GPU, and leaves its word where it looks', () => {
  const { initContainers, containers } = specOf(LARGE, 'Deployment').template.spec;
  const [fetcher, runner] = [initContainers[0], containers[0]];
  assert.is(initContainers.length, 1);
  assert.equal(fetcher.securityContext, runner.securityContext);
  assert.is(fetcher.securityContext.readOnlyRootFilesystem, true);
  assert.is(fetcher.resources.limits.memory, runner.resources.limits.memory);
  assert.not('nvidia.com/gpu' in fetcher.resources.limits);
  assert.is(runner.args[runner.args.indexOf('--app-models') + 1], fetcher.args[2]);
  for (const { name, mountPath } of fetcher.volumeMounts) {
    assert.ok(
      runner.volumeMounts.some((mount: object) => JSON.stringify(mount) === JSON.stringify({ name, mountPath })),
    );
  }
});

test('Kubernetes hands arguments on as they are, though it puts variables into them', () => {
  const [{ args }] = specOf(LARGE, 'Deployment').template.spec.initContainers;
  assert.is(args[0], LARGE.options.replaceAll('$', '$$$$'));
  // As in the kubelet, `$$` is an escaped dollar and `$(NAME)` is a variable.
  const expanded = args[0].replace(/\$\$|\$\((\w+)\)/g, (found: string) => (found === '$$' ? '$' : 'expanded'));
  assert.is(expanded, LARGE.options);
});

test('pods may go out to the ports that their files are at', () => {
  const { egress } = specOf(LARGE, 'NetworkPolicy');
  const ports = egress.flatMap(({ ports: of }: { ports: { port: number }[] }) => of.map(({ port }) => port));
  assert.ok(ports.includes(8443) && ports.includes(443));
});

test('kubectl shows the deployment message as the change cause', () => {
  assert.equal(objectOf(LARGE, 'Deployment').metadata.annotations, { 'kubernetes.io/change-cause': 'more room' });
  assert.not('annotations' in objectOf(SMALL, 'Deployment').metadata);
});

test('it has time to drain before it is ended', () => {
  const { terminationGracePeriodSeconds: grace, containers } = specOf(LARGE, 'Deployment').template.spec;
  const pause = Number(containers[0].lifecycle.preStop.exec.command[1]);
  const drain = Number(containers[0].args[containers[0].args.indexOf('--shutdown-timeout') + 1]);
  assert.is(drain, 300);
  assert.ok(grace >= pause + drain + 10, `${grace}`);
});

test('a start may take as long as it says, before a probe or the rollout gives up', () => {
  const slow = { ...SMALL, timeouts: { ...SMALL.timeouts, startSeconds: 3601 } };
  const { progressDeadlineSeconds, template } = specOf(slow, 'Deployment');
  const { periodSeconds, failureThreshold } = template.spec.containers[0].startupProbe;
  assert.ok(periodSeconds * failureThreshold >= 3601);
  assert.ok(progressDeadlineSeconds > 3601);
});

test('a scaler owns the number of pods', () => {
  assert.is(specOf(SMALL, 'Deployment').replicas, 1);
  assert.is(specOf({ ...LARGE, scaler: null }, 'Deployment').replicas, 2);
  assert.not('replicas' in specOf(LARGE, 'Deployment'));
});

test('a route leads to the pool where an endpoint picker chooses, else to the service', () => {
  const [{ backendRefs, matches }] = specOf(LARGE, 'HTTPRoute').rules;
  assert.is(backendRefs[0].kind, 'InferencePool');
  assert.is(matches[0].path.value, '/acme/chat');
  const plain = { ...LARGE, endpointPicker: null };
  assert.equal(specOf(plain, 'HTTPRoute').rules[0].backendRefs, [{ name: 'acme-chat', port: 80 }]);
});

for (const [org, name] of [
  ['acme', 'Chat'],
  ['acme', 'chat_2'],
  ['1acme', 'chat'],
  ['acme', 'chat-'],
  ['a'.repeat(30), 'b'.repeat(30)],
] as const) {
  test(`${org}/${name} is refused as a name`, () => {
    assert.throws(() => toObjects({ ...SMALL, org, name }), /is not a valid Kubernetes name/);
  });
}

test.run();
