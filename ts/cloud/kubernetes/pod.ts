/**
 * The pod of a runner. A first container fetches the files of the app's models and ends; then the runner is started,
 * `chasqui serve --mode serverless` with its probes, limits and time to stop.
 */
import { IN_IMAGE } from '../runners/container-arguments.js';
import { APP_LABEL, type KubernetesApp, REVISION_LABEL } from './kubernetes-app.js';
import { KEYS_SUFFIX, nameOf } from './names.js';

export const PORT = 8080;
/** Where the image's account keeps fetched models and what it learned about modules. */
const HOME = '/home/chasqui';
const KEYS = '/etc/chasqui';
/** What the first container has fetched, and what the runner is to load. */
const MODELS = '/tmp/models.json';
/** The account of the Containerfile. */
const USER = 10001;
/** Endpoints and gateways take this long to hear that a pod is leaving, and send it requests until then. */
const LEAVE_SECONDS = 5;
/** What stopping takes beside the draining of requests. */
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
  // What a container said last is the reason that the status of its pod shows.
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
      // Draining of requests follows after the pause, and the end of the engine after that.
      terminationGracePeriodSeconds: app.timeouts.drainSeconds + LEAVE_SECONDS + STOP_SECONDS,
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

/** It alone has the hub's secrets, and ends before there is a server. */
function fetcher(app: KubernetesApp): object {
  return {
    name: FETCHER,
    image: app.image,
    command: [IN_IMAGE.node, IN_IMAGE.fetcher],
    args: [app.options, app.name, MODELS].map(unexpanded),
    env: environment(app, isOfHub),
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
    env: environment(app, (name) => !isOfHub(name)),
    resources: resources(app.machine),
    // The server listens before its models are loaded, and is ready when they are.
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
    lifecycle: { preStop: { exec: { command: ['sleep', String(LEAVE_SECONDS)] } } },
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
    // Beside localhost and addresses, which probes use, a gateway sends the host that its clients asked for.
    ...['--allowed-host', '*'],
    ...['--app-models', MODELS],
  ];
}

/** Kubernetes puts variables in the place of `$(NAME)`, and one dollar in that of two. */
function unexpanded(argument: string): string {
  return argument.replaceAll('$', '$$$$');
}

/** Read by what fetches, and by nothing else. */
function isOfHub(variable: string): boolean {
  return /^(HF|HUGGING_?FACE)_/.test(variable);
}

function environment({ secret }: KubernetesApp, isWanted: (variable: string) => boolean): object[] {
  return (secret?.variables ?? []).filter(isWanted).map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: secret?.name, key: name } },
  }));
}

function resources(machine: KubernetesApp['machine']): object {
  // Cores are requested and not limited: a limit stops all threads of a step for the rest of a period.
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
