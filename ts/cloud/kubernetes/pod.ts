/**
 * The pod of a runner. An init container fetches the model files. Then `chasqui serve --mode serverless` starts with
 * its probes, limits and grace period.
 */
import { IN_IMAGE } from '../runners/container-arguments.js';
import { APP_LABEL, KEYS_SUFFIX, type KubernetesApp, nameOf, REVISION_LABEL } from './kubernetes-app.js';

export const PORT = 8080;
/** Home folder of the image's account: fetched models and cached facts about modules. */
const HOME = '/home/chasqui';
const KEYS = '/etc/chasqui';
/** List of the fetched models, written by the init container. */
const MODELS = '/tmp/models.json';
/** User id of the Containerfile. */
const USER = 10001;
/** Time for endpoints and gateways to stop sending requests to a terminating pod. */
const PRE_STOP_SECONDS = 5;
/** Time to stop after the requests are drained. */
const STOP_SECONDS = 15;
const PROBE_SECONDS = 5;

export const FETCHER = 'fetch';
export const RUNNER = 'runner';

const HOME_MOUNT = { name: 'home', mountPath: HOME };
const TMP_MOUNT = { name: 'tmp', mountPath: '/tmp' };
const CONFINED = {
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  // The last log lines become the reason in the pod status.
  terminationMessagePolicy: 'FallbackToLogsOnError',
};

export function podLabels(app: KubernetesApp): Record<string, string> {
  return { [APP_LABEL]: nameOf(app), 'app.kubernetes.io/name': 'chasqui', 'llm-d.ai/engine-type': 'chasqui' };
}

export function podTemplate(app: KubernetesApp): { metadata: object; spec: object } {
  return {
    metadata: { labels: { ...podLabels(app), [REVISION_LABEL]: app.revision.slice(0, 32) } },
    spec: {
      serviceAccountName: nameOf(app),
      automountServiceAccountToken: false,
      // preStop pause, draining, and exit of the engine.
      terminationGracePeriodSeconds: app.timeouts.drainSeconds + PRE_STOP_SECONDS + STOP_SECONDS,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      initContainers: [fetcher(app)],
      containers: [runner(app)],
      volumes: volumes(app),
    },
  };
}

/** Only this container has the hub secrets. It exits before the server starts. */
function fetcher(app: KubernetesApp): object {
  return {
    name: FETCHER,
    image: app.image,
    command: [IN_IMAGE.node, IN_IMAGE.fetcher],
    args: [app.options, app.name, MODELS].map(unexpanded),
    env: environment(app, isHubVariable),
    resources: resources({ ...app.machine, gpu: 0 }),
    ...CONFINED,
    volumeMounts: [HOME_MOUNT, TMP_MOUNT],
  };
}

function runner(app: KubernetesApp): object {
  const ready = { httpGet: { path: '/ready', port: 'http' } };
  return {
    name: RUNNER,
    image: app.image,
    args: args(app).map(unexpanded),
    ports: [{ name: 'http', containerPort: PORT, protocol: 'TCP' }],
    env: environment(app, (name) => !isHubVariable(name)),
    resources: resources(app.machine),
    // The server listens before its models are loaded.
    startupProbe: {
      ...ready,
      periodSeconds: PROBE_SECONDS,
      failureThreshold: Math.ceil(app.timeouts.startSeconds / PROBE_SECONDS),
    },
    readinessProbe: { ...ready, periodSeconds: PROBE_SECONDS, timeoutSeconds: 5, failureThreshold: 2 },
    livenessProbe: {
      httpGet: { path: '/live', port: 'http' },
      periodSeconds: 15,
      timeoutSeconds: 5,
      failureThreshold: 3,
    },
    lifecycle: { preStop: { exec: { command: ['sleep', String(PRE_STOP_SECONDS)] } } },
    ...CONFINED,
    volumeMounts: [
      HOME_MOUNT,
      TMP_MOUNT,
      ...(app.auth === 'private' ? [{ name: 'keys', mountPath: KEYS, readOnly: true }] : []),
    ],
  };
}

function args(app: KubernetesApp): string[] {
  return [
    ...['--mode', 'serverless', '--port', String(PORT), '--org', app.org, '--app', app.name, '--auth', app.auth],
    ...(app.auth === 'private' ? ['--keys-file', `${KEYS}/keys.json`] : []),
    ...['--shutdown-timeout', String(app.timeouts.drainSeconds)],
    ...['--metrics-names', 'vllm'],
    // Gateways forward the host names of their clients.
    ...['--allowed-host', '*'],
    ...['--app-models', MODELS],
  ];
}

/** Kubernetes expands `$(NAME)` and replaces `$$` by `$`. */
function unexpanded(argument: string): string {
  return argument.replaceAll('$', '$$$$');
}

/** Used for fetching only. */
function isHubVariable(variable: string): boolean {
  return /^(HF|HUGGING_?FACE)_/.test(variable);
}

function environment({ secret }: KubernetesApp, isWanted: (variable: string) => boolean): object[] {
  return (secret?.variables ?? []).filter(isWanted).map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: secret?.name, key: name } },
  }));
}

function resources(machine: KubernetesApp['machine']): object {
  // No CPU limit: it would stop all threads of a step for the rest of a period.
  const cpu = machine.cpu === null ? {} : { cpu: String(machine.cpu) };
  const gpu = machine.gpu > 0 ? { 'nvidia.com/gpu': String(machine.gpu) } : {};
  return {
    requests: { ...cpu, memory: machine.memory, ...gpu },
    limits: { memory: machine.memory, ...gpu },
  };
}

function volumes(app: KubernetesApp): object[] {
  return [
    app.weights === null
      ? { name: 'home', emptyDir: {} }
      : { name: 'home', persistentVolumeClaim: { claimName: `${nameOf(app)}-weights` } },
    { name: 'tmp', emptyDir: {} },
    ...(app.auth === 'private'
      ? [{ name: 'keys', secret: { secretName: `${nameOf(app)}${KEYS_SUFFIX}`, defaultMode: 0o440 } }]
      : []),
  ];
}
