/** The pod of a runner: `chasqui serve --mode serverless` with its probes, limits and time to stop. */
import { APP_LABEL, type KubernetesApp, REVISION_LABEL } from './kubernetes-app.js';
import { nameOf } from './names.js';

export const PORT = 8080;
/** Where the image's account keeps fetched models and what it learned about modules. */
const HOME = '/home/chasqui';
const KEYS = '/etc/chasqui';
/** The account of the Containerfile. */
const USER = 10001;
/** Endpoints and gateways take this long to hear that a pod is leaving, and send it requests until then. */
const LEAVE_SECONDS = 5;
/** What stopping takes beside the draining of requests. */
const STOP_SECONDS = 15;
const PROBE_SECONDS = 5;

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
      containers: [container(app)],
      volumes: volumes(app),
    },
  };
}

function container(app: KubernetesApp): object {
  const ready = { httpGet: { path: '/ready', port: 'http' } };
  return {
    name: 'runner',
    image: app.image,
    args: args(app),
    ports: [{ name: 'http', containerPort: PORT, protocol: 'TCP' }],
    env: environment(app),
    resources: resources(app),
    // The server listens before its model is fetched and loaded, and is ready when it is.
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
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'home', mountPath: HOME },
      { name: 'tmp', mountPath: '/tmp' },
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
    ...app.options,
  ];
}

function environment({ secret }: KubernetesApp): object[] {
  return (secret?.variables ?? []).map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: secret?.name, key: name } },
  }));
}

function resources({ machine }: KubernetesApp): object {
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
      ? [{ name: 'keys', secret: { secretName: `${nameOf(app)}-keys`, defaultMode: 0o440 } }]
      : []),
  ];
}
