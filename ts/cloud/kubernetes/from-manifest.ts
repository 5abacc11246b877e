/** From what a deployment script says to what Kubernetes is told. Pure. */
import { ChasquiError } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';
import { canonicalJson, type Json } from '../script/canonical-json.js';
import { fileFieldsOf, nameOfField } from '../script/file-fields.js';
import { filesIn, type Manifest, slotsOf } from '../script/manifest.js';
import { readModelReference } from '../script/model-reference.js';
import type { KubernetesApp } from './kubernetes-app.js';

/** What the script does not say, because it is the cluster's. */
export interface ClusterSettings
  extends Pick<KubernetesApp, 'image' | 'message' | 'gateway' | 'scaler' | 'endpointPicker'> {
  strategy: KubernetesApp['strategy'];
  keys: readonly StoredKey[];
  /** The Secret with the variables that the script names; null: none. */
  secret: string | null;
  weights: KubernetesApp['weights'];
}

export interface DeployedManifest {
  org: string;
  name: string;
  revision: string;
  /** What the script says; the manifest is what it means. */
  options: Options;
  manifest: Manifest;
}

type Options = { readonly [name: string]: Json };

/** Linux takes 128 KiB. */
const MAX_ARGUMENT_BYTES = 120 << 10;
const MIB = 2 ** 20;

/** @throws {ChasquiError} `invalid_options`, naming the field of the script or the setting */
export function toKubernetesApp(
  { org, name, revision, options, manifest }: DeployedManifest,
  settings: ClusterSettings,
): KubernetesApp {
  const { threads, gpuLayers } = manifest.options;
  if (manifest.memoryBytes === null) {
    throw refused(
      '`machine.memory` of the script is missing: Kubernetes places a pod by what it takes, with all files of all its ' +
        'models and their contexts.',
    );
  }
  refuseFilesOfThisMachine(options);
  if (manifest.secrets.length > 0 && settings.secret === null) {
    const names = manifest.secrets.join(', ');
    throw refused(`The script names \`secrets\` (${names}): say by \`secret\` which Secret of the cluster has them.`);
  }
  if (manifest.secrets.length === 0 && settings.secret !== null) {
    throw refused(`\`secret\` is ${settings.secret}, but the script names no \`secrets\` that pods are to have of it.`);
  }
  if (manifest.auth === 'private' && settings.keys.length === 0) {
    throw noKeys(org, name);
  }
  return {
    org,
    name,
    revision,
    image: settings.image,
    message: settings.message,
    auth: manifest.auth,
    keys: settings.keys,
    options: toArgument(options),
    fetchPorts: portsOf(manifest),
    slots: slotsOf(manifest),
    machine: {
      cpu: typeof threads === 'number' ? threads : null,
      memory: `${Math.ceil(manifest.memoryBytes / MIB)}Mi`,
      gpu: gpuLayers === 0 ? 0 : (manifest.gpus ?? 0),
    },
    scale: {
      min: manifest.scale.min,
      max: manifest.scale.max,
      keepAliveSeconds: seconds(manifest.scale.keepAliveMs),
    },
    timeouts: {
      startSeconds: seconds(manifest.timeouts.startMs),
      requestSeconds: seconds(manifest.timeouts.requestMs),
      drainSeconds: seconds(manifest.timeouts.drainMs),
    },
    strategy: settings.strategy,
    weights: settings.weights,
    secret: settings.secret === null ? null : { name: settings.secret, variables: manifest.secrets },
    gateway: settings.gateway,
    scaler: settings.scaler,
    endpointPicker: settings.endpointPicker,
  };
}

/** Pods have what they can fetch, and nothing of the machine that deploys. */
function refuseFilesOfThisMachine(options: Options): void {
  const file = fileFieldsOf(options).find(({ text }) => readModelReference(text)?.kind === 'file');
  if (file !== undefined) {
    throw refused(
      `\`${nameOfField(file.at)}\` of the script is a file of this machine, which a cluster cannot read: name a hub, ` +
        'as in hf:org/repository, or an address.',
    );
  }
}

/** As an argument of a container, on lines of its own, as people read it among the objects. */
function toArgument(options: Options): string {
  const text = JSON.stringify(JSON.parse(canonicalJson(options)), null, 2);
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return text;
  throw refused(
    `The script's options are ${Buffer.byteLength(text)} bytes, of which a pod takes ${MAX_ARGUMENT_BYTES}.`,
  );
}

/** 80 and 443 are open anyway. */
function portsOf(manifest: Manifest): number[] {
  const ports = filesIn(manifest).flatMap((file) => (file.kind === 'url' ? Number(new URL(file.url).port || 443) : []));
  return [...new Set(ports)].filter((port) => ![80, 443].includes(port)).sort((one, other) => one - other);
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** Of an app that is to be private, before anything is changed. */
export function noKeys(org: string, name: string): ChasquiError {
  return refused(`${org} has no key that opens ${name}: create one before, or nobody could call it.`);
}

function refused(message: string): ChasquiError {
  return new ChasquiError('invalid_options', message);
}
