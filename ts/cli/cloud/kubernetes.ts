/** `chasqui deploy … --to kubernetes`: its own flags, and what it prints. */
import { setTimeout as sleep } from 'node:timers/promises';
import { applyObjects } from '../../cloud/kubernetes/apply.js';
import { type ClusterSettings, type DeployedManifest, toKubernetesApp } from '../../cloud/kubernetes/from-manifest.js';
import type { Cluster } from '../../cloud/kubernetes/kubectl.js';
import type { KubernetesObject } from '../../cloud/kubernetes/kubernetes-app.js';
import { nameOf } from '../../cloud/kubernetes/names.js';
import { toObjects } from '../../cloud/kubernetes/objects.js';
import { type AppStatus, readStatus } from '../../cloud/kubernetes/status.js';
import { toYaml } from '../../cloud/kubernetes/to-yaml.js';
import { OWN_ORG } from '../../cloud/own-org.js';
import { digestOf, type Json } from '../../cloud/script/canonical-json.js';
import { toManifest } from '../../cloud/script/manifest.js';
import type { OptionsOf } from '../../engine/option-row.js';
import { ChasquiError } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';
import { KeyStore } from '../../keys/key-store.js';
import { dataDir } from '../data-dir.js';
import { KUBERNETES_OPTIONS } from './kubernetes-option-table.js';
import { printJson } from './outcome.js';

export interface KubernetesSettings extends OptionsOf<typeof KUBERNETES_OPTIONS> {
  org?: string;
  dataDir?: string;
  strategy?: 'rolling' | 'recreate';
  detach?: boolean;
  json?: boolean;
}

const POLL_MS = 1000;
/** Beside the time that an app may take to start. */
const GRACE_MS = 60_000;

/** Prints to standard output. Rejects where the cluster refuses, or the rollout fails. */
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
  const { applied, removed } = await applyObjects(cluster, objects, { force: takeOver });
  if (!json) for (const each of [...applied, ...removed.map((one) => `${one} removed`)]) console.log(`  ${each}`);
  const status = detach
    ? await readStatus(cluster, nameOf(app))
    : await untilReady(cluster, nameOf(app), app.manifest.timeouts.startMs);
  const { state = null, ready = 0, wanted = 0 } = status ?? {};
  if (json) printJson({ app: app.name, org: app.org, revision: app.revision, state, applied, removed });
  else console.log(`${app.org}/${app.name} is ${state}, ${ready} of ${wanted} pods.`);
}

/** Rejects with what the cluster says of the pods, when they do not become ready in time. */
export async function untilReady(cluster: Cluster, name: string, limitMs: number): Promise<AppStatus | null> {
  const deadline = performance.now() + limitMs + GRACE_MS;
  for (;;) {
    const status = await readStatus(cluster, name);
    if (status === null || status.state === 'ready' || status.state === 'asleep') return status;
    if (status.state === 'failed' || performance.now() > deadline) {
      const pods = status.pods.map(({ name, state, reason }) => `${name} is ${state}${reason ? `: ${reason}` : ''}`);
      throw new ChasquiError(
        'cluster_failed',
        [status.reason ?? 'It did not become ready in time.', ...pods].join('\n'),
      );
    }
    await sleep(POLL_MS);
  }
}

function toClusterSettings(app: DeployedManifest, settings: KubernetesSettings): ClusterSettings {
  const { image, secret = null, weightsSize, storageClass = null, routeHost = null, strategy = 'rolling' } = settings;
  const { gateway, scaler, routing } = settings;
  if (image === undefined) {
    throw needed('image', 'build it by the Containerfile, and push it where the cluster finds it');
  }
  if (scaler !== undefined && routeHost === null) throw needed('routeHost', 'the add-on routes by it');
  return {
    image,
    keys: keysOf(app, settings.dataDir),
    secret,
    strategy,
    weights: weightsSize === undefined ? null : { size: weightsSize, storageClass },
    gateway: gateway === undefined ? null : { ...splitGateway(gateway), host: routeHost },
    scaler: scaler === undefined ? null : { kind: scaler, host: routeHost as string },
    endpointPicker: routing === undefined ? null : splitPicker(settings.endpointPicker),
  };
}

function splitGateway(text: string): { name: string; namespace: string | null } {
  const [first = '', second] = text.split('/');
  return second === undefined ? { name: first, namespace: null } : { name: second, namespace: first };
}

function splitPicker(text: string | undefined): { name: string; port: number } {
  const [, name = '', port] = /^([a-z0-9.-]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (port === undefined) throw needed('endpointPicker', 'as service:port, such as picker:9002');
  return { name, port: Number(port) };
}

/** The keys of this machine that open the app. Kubernetes gets their hashes. */
function keysOf({ org, name, manifest }: DeployedManifest, given: string | undefined): readonly StoredKey[] {
  if (manifest.auth === 'public') return [];
  const keys = KeyStore.open(dataDir(given));
  try {
    return keys.storedFor(org, name);
  } finally {
    keys.close();
  }
}

function needed(option: 'image' | 'routeHost' | 'endpointPicker', why: string): ChasquiError {
  const { flag } = KUBERNETES_OPTIONS[option];
  return new ChasquiError('invalid_options', `--to kubernetes needs ${flag} here: ${why}.`);
}

function print(objects: readonly KubernetesObject[], format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
  return toYaml(objects);
}
