/** `chasqui deploy … --to kubernetes`: its own flags, and what it prints. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { applyObjects } from '../../cloud/kubernetes/apply.js';
import { type ClusterSettings, type DeployedManifest, toKubernetesApp } from '../../cloud/kubernetes/from-manifest.js';
import type { Cluster } from '../../cloud/kubernetes/kubectl.js';
import type { KubernetesObject } from '../../cloud/kubernetes/kubernetes-app.js';
import { nameOf } from '../../cloud/kubernetes/names.js';
import { toObjects } from '../../cloud/kubernetes/objects.js';
import { type AppStatus, readStatus } from '../../cloud/kubernetes/status.js';
import { toYaml } from '../../cloud/kubernetes/to-yaml.js';
import { ChasquiError } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';

/** What commander makes of the flags. */
export interface KubernetesFlags {
  context?: string;
  namespace?: string;
  image?: string;
  gateway?: string;
  host?: string;
  secret?: string;
  weightsSize?: string;
  storageClass?: string;
  scale?: 'keda-http';
  routing?: 'inferencepool';
  endpointPicker?: string;
  takeOver?: boolean;
  dryRun?: boolean;
  output?: 'yaml' | 'json';
  strategy?: 'rolling' | 'recreate';
  detach?: boolean;
  json?: boolean;
}

const POLL_MS = 1000;

export function addKubernetesOptions(command: Command): Command {
  const options = [
    new Option('--context <name>', 'context of the kubeconfig (default: its current one)'),
    new Option('--namespace <name>', "namespace (default: the context's)"),
    new Option('--image <reference>', 'the image of chasqui that pods run, best with its digest; needed'),
    new Option('--gateway <name>', 'Gateway to attach the route to, as name or namespace/name (default: no route)'),
    new Option('--host <name>', 'host that the route or the scaler answers to (default: any)'),
    new Option('--secret <name>', 'Secret of the cluster that has the variables which the script names'),
    new Option('--weights-size <quantity>', 'keep fetched weights in a volume of this size, such as 20Gi'),
    new Option('--storage-class <name>', "class of that volume (default: the cluster's)"),
    new Option('--scale <scaler>', 'scale to zero and back by an add-on of the cluster').choices(['keda-http']),
    new Option('--routing <kind>', 'have an endpoint picker choose the pod of a request').choices(['inferencepool']),
    new Option('--endpoint-picker <service:port>', 'the picker of --routing inferencepool'),
    new Option('--take-over', 'apply fields too that another program has changed'),
    new Option('--dry-run', 'print the objects and change nothing'),
    new Option('-o, --output <format>', 'of --dry-run').choices(['yaml', 'json']).default('yaml'),
  ];
  for (const option of options) command.addOption(option.helpGroup('With --to kubernetes:'));
  return command;
}

/** Prints to standard output. Rejects where the cluster refuses, or the rollout fails. */
export async function deployToKubernetes(
  app: DeployedManifest,
  keys: readonly StoredKey[],
  flags: KubernetesFlags,
): Promise<void> {
  const objects = toObjects(toKubernetesApp(app, toSettings(keys, flags)));
  if (flags.dryRun) {
    process.stdout.write(print(objects, flags.output ?? 'yaml'));
    return;
  }
  const cluster: Cluster = { context: flags.context ?? null, namespace: flags.namespace ?? null };
  const { applied, removed } = await applyObjects(cluster, objects, { force: flags.takeOver ?? false });
  const name = nameOf(app);
  if (!flags.json) for (const each of [...applied, ...removed.map((one) => `${one} removed`)]) console.log(`  ${each}`);
  const status = flags.detach ? await readStatus(cluster, name) : await untilReady(cluster, name, app);
  if (flags.json) {
    const { state = null } = status ?? {};
    console.log(JSON.stringify({ app: app.name, revision: app.revision, state, applied, removed }, null, 2));
  } else console.log(`${app.name} is ${status?.state}, ${status?.ready} of ${status?.wanted} pods`);
}

async function untilReady(cluster: Cluster, name: string, { manifest }: DeployedManifest): Promise<AppStatus | null> {
  const deadline = performance.now() + manifest.timeouts.startMs + 60_000;
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

function toSettings(keys: readonly StoredKey[], flags: KubernetesFlags): ClusterSettings {
  const { image, secret = null, weightsSize, storageClass = null, host = null, strategy = 'rolling' } = flags;
  if (image === undefined) {
    throw needed('image', 'build it by the Containerfile and push it where the cluster finds it');
  }
  if (flags.scale === 'keda-http' && host === null) throw needed('host', 'the add-on routes by it');
  return {
    image,
    keys,
    secret,
    strategy,
    weights: weightsSize === undefined ? null : { size: weightsSize, storageClass },
    gateway: flags.gateway === undefined ? null : { ...splitGateway(flags.gateway), host },
    scaler: flags.scale === undefined ? null : { kind: flags.scale, host: host as string },
    endpointPicker: flags.routing === undefined ? null : splitPicker(flags.endpointPicker),
  };
}

function splitGateway(text: string): { name: string; namespace: string | null } {
  const [first = '', second] = text.split('/');
  return second === undefined ? { name: first, namespace: null } : { name: second, namespace: first };
}

function splitPicker(text: string | undefined): { name: string; port: number } {
  const [, name = '', port] = /^([a-z0-9.-]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (port === undefined) throw needed('endpoint-picker', 'as service:port, such as picker:9002');
  return { name, port: Number(port) };
}

function needed(flag: string, why: string): ChasquiError {
  return new ChasquiError('invalid_options', `--to kubernetes needs --${flag} here: ${why}.`);
}

function print(objects: readonly KubernetesObject[], format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
  return toYaml(objects);
}
