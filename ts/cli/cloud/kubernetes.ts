/** `chasqui deploy … --to kubernetes`: checks its flags, applies the objects and prints the rollout. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Applied, applyObjects } from '../../cloud/kubernetes/apply.js';
import { type ClusterSettings, type DeployedManifest, toKubernetesApp } from '../../cloud/kubernetes/from-manifest.js';
import type { Cluster } from '../../cloud/kubernetes/kubectl.js';
import type { KubernetesObject } from '../../cloud/kubernetes/kubernetes-app.js';
import { nameOf } from '../../cloud/kubernetes/kubernetes-app.js';
import { toObjects, toYaml } from '../../cloud/kubernetes/objects.js';
import { type AppStatus, type PodStatus, readStatus } from '../../cloud/kubernetes/status.js';
import { OWN_ORG } from '../../cloud/places.js';
import { digestOf, type Json } from '../../cloud/script/canonical-json.js';
import { toManifest } from '../../cloud/script/manifest.js';
import { type ChasquiError, invalidOptions } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import type { StoredKey } from '../../keys/key-file.js';
import { KeyStore } from '../../keys/key-store.js';
import type { OptionsOf } from '../../options/option-row.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { KUBERNETES_OPTIONS, WEIGHTS_OPTION } from './kubernetes-option-table.js';
import { printJson } from './outcome.js';
import { showSteps } from './until-active.js';

export interface KubernetesSettings extends OptionsOf<typeof KUBERNETES_OPTIONS> {
  org?: string;
  dataDir?: string;
  strategy?: 'rolling' | 'recreate';
  message?: string;
  check?: boolean;
  detach?: boolean;
  json?: boolean;
}

/** Such as 20Gi or 500G. */
const QUANTITY = /^\d+(\.\d+)?([kKMGTP]i?)?$/;
const POLL_MS = 1000;
/** Added to the startup time limit of the app. */
const GRACE_MS = 60_000;
/** The command stops waiting after this many restarts of a pod; the cluster keeps retrying. */
const MAX_CRASHES = 3;

/** Prints to standard output. Rejects if the cluster refuses the objects or the rollout fails. */
export async function deployToKubernetes(
  { name, options }: { name: string; options: { readonly [name: string]: Json } },
  settings: KubernetesSettings,
): Promise<void> {
  const app = {
    org: settings.org ?? OWN_ORG,
    name,
    revision: digestOf(options),
    options,
    manifest: toManifest(options, name),
  };
  const objects = toObjects(toKubernetesApp(app, toClusterSettings(app, settings)));
  if (settings.dryRun) process.stdout.write(print(objects, settings.output ?? 'yaml'));
  else await apply(app, objects, settings);
}

async function apply(
  app: DeployedManifest,
  objects: readonly KubernetesObject[],
  { context, namespace, takeOver = false, detach = false, json = false }: KubernetesSettings,
): Promise<void> {
  const cluster: Cluster = { context: context ?? null, namespace: namespace ?? null };
  const { applied, removed, kept } = await applyObjects(cluster, objects, { force: takeOver });
  if (!json) for (const line of changeLines({ applied, removed, kept })) console.log(line);
  const status = detach
    ? await readStatus(cluster, nameOf(app))
    : await untilReady(cluster, nameOf(app), app.manifest.timeouts.startMs, json);
  const { state = null, ready = 0, wanted = 0 } = status ?? {};
  if (json) printJson({ app: app.name, org: app.org, revision: app.revision, state, applied, removed, kept });
  else console.log(`${app.org}/${app.name} is ${state}, ${ready} of ${wanted} pods.`);
}

/** One line per object. */
export function changeLines({ applied = [], removed, kept }: Partial<Applied> & Omit<Applied, 'applied'>): string[] {
  return [
    ...applied.map((name) => `  ${name}`),
    ...removed.map((name) => `  ${name} removed`),
    ...kept.map((name) => `  ${name} stays; apps delete ${WEIGHTS_OPTION.weights.flag} removes it`),
  ];
}

/**
 * Waits until the pods are ready, and shows progress unless `quiet`.
 * @throws {CommandFailed} with the states of the pods if they crash repeatedly or are not ready in time
 */
export async function untilReady(
  cluster: Cluster,
  name: string,
  limitMs: number,
  quiet: boolean,
): Promise<AppStatus | null> {
  const steps = showSteps(process.stderr, quiet);
  const deadline = performance.now() + limitMs + GRACE_MS;
  try {
    for (;;) {
      const status = await readStatus(cluster, name);
      if (status === null || status.state === 'ready' || status.state === 'asleep') return status;
      const why = whyNotReady(status, performance.now() > deadline);
      if (why !== null) throw new CommandFailed(EXIT.notReady, [why, ...newPods(status).map(podLine)].join('\n'));
      steps.show(stepOf(status));
      await sleep(POLL_MS);
    }
  } finally {
    steps.clear();
  }
}

/** Returns null if the app can still become ready. */
function whyNotReady(status: AppStatus, isLate: boolean): string | null {
  if (status.state === 'failed') return status.reason ?? 'The rollout failed.';
  if (isLate) return `It did not become ready in time${status.reason ? `: ${status.reason}` : '.'}`;
  const crashes = newPods(status).some(({ state, restarts }) => state === 'crashed' && restarts >= MAX_CRASHES);
  return crashes ? 'Its pods crash repeatedly; the cluster keeps retrying.' : null;
}

function newPods({ pods, revision }: AppStatus): readonly PodStatus[] {
  return pods.filter((pod) => pod.state !== 'draining' && (pod.revision === null || pod.revision === revision));
}

function podLine({ name, state, reason }: PodStatus): string {
  return `  ${name} is ${state}${reason ? `: ${reason}` : ''}`;
}

function stepOf(status: AppStatus): string {
  const next = newPods(status).find(({ state }) => state !== 'ready');
  const ready = `${status.ready} of ${status.wanted} pods ready`;
  const why = status.reason ?? next?.reason ?? next?.state;
  return why === undefined ? ready : `${ready}; ${why}`;
}

function toClusterSettings(app: DeployedManifest, settings: KubernetesSettings): ClusterSettings {
  const { image, secret = null, weightsSize, storageClass = null, routeHost = null, strategy = 'rolling' } = settings;
  const { gateway, scaler, routing, message = null } = settings;
  refuseWithoutEffect(settings);
  if (image === undefined) {
    throw needed('image', 'build it by the Containerfile, and push it where the cluster finds it');
  }
  if (scaler !== undefined && routeHost === null) throw needed('routeHost', 'the add-on routes by it');
  return {
    image,
    message,
    keys: app.manifest.auth === 'public' ? [] : keysOf(app, settings.dataDir),
    secret,
    strategy,
    weights: weightsSize === undefined ? null : { size: weightsSize, storageClass },
    gateway: gateway === undefined ? null : { ...splitGateway(gateway), host: routeHost },
    scaler: scaler === undefined ? null : { kind: scaler, host: routeHost as string },
    endpointPicker: routing === undefined ? null : splitPicker(settings.endpointPicker),
  };
}

/** Rejects options that would have no effect. */
function refuseWithoutEffect({ check, storageClass, weightsSize, routeHost, ...settings }: KubernetesSettings): void {
  const { gateway, scaler, routing, endpointPicker } = settings;
  if (check) throw refused('`check` is for a cloud of chasqui: `dryRun` prints the objects here, and changes nothing.');
  if (weightsSize !== undefined && !QUANTITY.test(weightsSize)) {
    throw refused(
      `\`weightsSize\` is ${weightsSize.slice(0, 100)}, but must be a quantity of Kubernetes, such as 20Gi.`,
    );
  }
  if (storageClass !== undefined && weightsSize === undefined) throw needed('weightsSize', 'it makes the volume');
  if (routeHost !== undefined && gateway === undefined && scaler === undefined) {
    throw refused('`routeHost` is the host of a route: `gateway` makes one, and so does `scaler`.');
  }
  if (endpointPicker !== undefined && routing === undefined) {
    throw refused('`endpointPicker` is asked where `routing` is inferencepool: give both.');
  }
}

function splitGateway(text: string): { name: string; namespace: string | null } {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0 || first === '' || second === '') {
    throw refused(`\`gateway\` is ${text.slice(0, 100)}, but must be a name or namespace/name.`);
  }
  return second === undefined ? { name: first, namespace: null } : { name: second, namespace: first };
}

function splitPicker(text: string | undefined): { name: string; port: number } {
  const [, name = '', port] = /^([a-z0-9.-]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (port === undefined) throw needed('endpointPicker', 'as service:port, such as picker:9002');
  return { name, port: Number(port) };
}

/** The local keys for the app. Kubernetes only gets their hashes. */
export function keysOf(
  { org, name }: Pick<DeployedManifest, 'org' | 'name'>,
  given: string | undefined,
): readonly StoredKey[] {
  const keys = KeyStore.open(dataDir(given));
  try {
    return keys.storedFor(org, name);
  } finally {
    keys.close();
  }
}

function needed(option: 'image' | 'routeHost' | 'endpointPicker' | 'weightsSize', why: string): ChasquiError {
  const { flag } = KUBERNETES_OPTIONS[option];
  return refused(`--to kubernetes needs ${flag} here: ${why}.`);
}

function refused(message: string): ChasquiError {
  return invalidOptions(message);
}

function print(objects: readonly KubernetesObject[], format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
  return toYaml(objects);
}
