/** Input for the Kubernetes objects of an app. */
import { invalidOptions } from '../../errors.js';
import type { StoredKey } from '../../keys/key-file.js';

export interface KubernetesApp {
  org: string;
  name: string;
  revision: string;
  /** Deployment message, or null. */
  message: string | null;
  /** Container image of chasqui (see the Containerfile), preferably with a digest. */
  image: string;
  auth: 'private' | 'public';
  /** Keys of a private app. Their hashes are stored in a Secret. */
  keys: readonly StoredKey[];
  /** Options of the script as JSON, for fetching and loading models. */
  options: string;
  /** Ports of model URLs besides 80 and 443. */
  fetchPorts: readonly number[];
  /** Concurrent requests per runner. */
  slots: number;
  machine: {
    /** Requested cores, or null. */
    cpu: number | null;
    /** A Kubernetes quantity such as `8Gi`. */
    memory: string;
    /** NVIDIA GPUs. */
    gpu: number;
  };
  scale: { min: number; max: number; keepAliveSeconds: number };
  timeouts: { startSeconds: number; requestSeconds: number; drainSeconds: number };
  strategy: 'rolling' | 'recreate';
  /** Volume for fetched weights; null: each pod fetches its own. */
  weights: { size: string; storageClass: string | null } | null;
  /** Variables from an existing Secret, or null. Hub variables such as HF_TOKEN go to the init container only. */
  secret: { name: string; variables: readonly string[] } | null;
  /** Parent Gateway of the app's HTTPRoute; null: no route. */
  gateway: { name: string; namespace: string | null; host: string | null } | null;
  /** `keda-http`: KEDA's HTTP add-on scales from 0 to `scale.max` pods. null: always `scale.min` pods, at least one. */
  scaler: { kind: 'keda-http'; host: string } | null;
  /** Service of the endpoint picker that routes requests to pods; null: the Service balances them. */
  endpointPicker: { name: string; port: number } | null;
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

/** Label of all objects of an app; finds obsolete ones. */
export const APP_LABEL = 'chasqui.dev/app';
export const REVISION_LABEL = 'chasqui.dev/revision';
/** Standard annotation, shown by `kubectl rollout history`. */
export const MESSAGE_ANNOTATION = 'kubernetes.io/change-cause';
/** Label selector for all objects that chasqui manages. */
export const MANAGED = 'app.kubernetes.io/managed-by=chasqui';

/** Kubernetes allows 63 characters, and objects append up to 8. */
const MAX_LENGTH = 55;

/** Suffix of the Secret with an app's keys. */
export const KEYS_SUFFIX = '-keys';

/** Returns `<org>-<app>`. Throws `invalid_options` if Kubernetes does not allow that name. */
export function nameOf({ org, name }: { org: string; name: string }): string {
  const joined = `${org}-${name}`;
  if (/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(joined) && joined.length <= MAX_LENGTH) return joined;
  throw invalidOptions(
    `\`${joined}\` is not a valid Kubernetes name. Use lower-case letters, digits and hyphens for the organisation and ` +
      `the app, a letter first, and at most ${MAX_LENGTH} characters for both.`,
  );
}
