/** From what a deployment script says to what Kubernetes is told. Pure. */
import { ChasquiError } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';
import type { Manifest } from '../script/manifest.js';
import type { ModelReference } from '../script/model-reference.js';
import { toArguments } from './arguments.js';
import type { KubernetesApp } from './kubernetes-app.js';

/** What the script does not say, because it is the cluster's. */
export interface ClusterSettings extends Pick<KubernetesApp, 'image' | 'gateway' | 'scaler' | 'endpointPicker'> {
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
  manifest: Manifest;
}

const MIB = 2 ** 20;

/** @throws {ChasquiError} `invalid_options`, naming the field of the script or the setting */
export function toKubernetesApp(
  { org, name, revision, manifest }: DeployedManifest,
  settings: ClusterSettings,
): KubernetesApp {
  const { threads, gpuLayers } = manifest.options;
  if (manifest.memoryBytes === null) {
    throw refused('`machine.memory` of the script is missing: Kubernetes places a pod by what it takes.');
  }
  if (manifest.secrets.length > 0 && settings.secret === null) {
    const names = manifest.secrets.join(', ');
    throw refused(`The script names secrets (${names}): say which Secret of the cluster has them.`);
  }
  if (manifest.auth === 'private' && settings.keys.length === 0) {
    throw refused(`${org} has no key that opens ${name}: create one before, or nobody could call it.`);
  }
  return {
    org,
    name,
    revision,
    image: settings.image,
    auth: manifest.auth,
    keys: settings.keys,
    options: [...modelArguments(manifest), ...toArguments(manifest.options)],
    slots: manifest.slots,
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

function modelArguments({ model, mmproj, draftModel, adapters, others }: Manifest): string[] {
  if (others.length > 0) throw refused('`models` of the script: a pod serves one model; deploy an app for each.');
  if (adapters.length > 0) throw refused('`adapters` of the script: pods fetch no adapters yet.');
  if (mmproj !== null) throw refused('`mmproj` of the script: a pod finds a projector only beside a model of a hub.');
  if (draftModel !== null) throw refused('`draftModel` of the script: pods fetch no draft model yet.');
  return argumentsOf(model);
}

function argumentsOf(model: ModelReference): string[] {
  switch (model.kind) {
    case 'demo':
      return [];
    case 'url':
      return ['--model-url', model.url];
    case 'hub':
      return ['--hf', model.variant === null ? model.repository : `${model.repository}:${model.variant}`];
    case 'file':
      throw refused(
        '`model` of the script is a file of this machine, which a cluster cannot read: name a hub or an address.',
      );
  }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

function refused(message: string): ChasquiError {
  return new ChasquiError('invalid_options', message);
}
