/** Converts a manifest and cluster settings to a `KubernetesApp`. Pure. */
import { type ChasquiError, invalidOptions } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';
import { canonicalJson, type Json } from '../script/canonical-json.js';
import { readModelReference } from '../script/field-values.js';
import { fileFieldsOf, nameOfField } from '../script/file-fields.js';
import { filesIn, type Manifest, slotsOf } from '../script/manifest.js';
import type { KubernetesApp } from './kubernetes-app.js';

export interface ClusterSettings
  extends Pick<KubernetesApp, 'image' | 'message' | 'gateway' | 'scaler' | 'endpointPicker'> {
  strategy: KubernetesApp['strategy'];
  keys: readonly StoredKey[];
  secret: string | null;
  weights: KubernetesApp['weights'];
}

export interface DeployedManifest {
  org: string;
  name: string;
  revision: string;
  options: Options;
  manifest: Manifest;
}

type Options = { readonly [name: string]: Json };

/** Linux limits an argument to 128 KiB. */
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
      'The script must set `machine.memory`, by which Kubernetes places pods. Include all model files and contexts.',
    );
  }
  refuseLocalFiles(options);
  if (manifest.secrets.length > 0 && settings.secret === null) {
    const names = manifest.secrets.join(', ');
    throw refused(`The script uses \`secrets\` (${names}). Set \`secret\` to the Secret of the cluster that has them.`);
  }
  if (manifest.secrets.length === 0 && settings.secret !== null) {
    throw refused(`\`secret\` is ${settings.secret}, but the script uses no \`secrets\`.`);
  }
  if (manifest.bearer) throw refused('Pods accept keys as `Authorization: Key` only. Remove `bearer` from the script.');
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

/** Pods can only fetch models. */
function refuseLocalFiles(options: Options): void {
  const file = fileFieldsOf(options).find(({ text }) => readModelReference(text)?.kind === 'file');
  if (file !== undefined) {
    throw refused(
      `\`${nameOfField(file.at)}\` of the script is a local file, which a cluster cannot read. Use a hub model ` +
        '(hf:org/repository) or a URL.',
    );
  }
}

/** An argument of a container, indented for readability. */
function toArgument(options: Options): string {
  const text = JSON.stringify(JSON.parse(canonicalJson(options)), null, 2);
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return text;
  throw refused(
    `The script's options have ${Buffer.byteLength(text)} bytes, but pods accept only ${MAX_ARGUMENT_BYTES}.`,
  );
}

/** Ports besides 80 and 443, which are always open. */
function portsOf(manifest: Manifest): number[] {
  const ports = filesIn(manifest).flatMap((file) => (file.kind === 'url' ? Number(new URL(file.url).port || 443) : []));
  return [...new Set(ports)].filter((port) => ![80, 443].includes(port)).sort((one, other) => one - other);
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

export function noKeys(org: string, name: string): ChasquiError {
  return refused(`No API key of organisation \`${org}\` covers app \`${name}\`. Create one first.`);
}

function refused(message: string): ChasquiError {
  return invalidOptions(message);
}
