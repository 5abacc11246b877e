/** What the Kubernetes objects of an app are made of. */
import type { StoredKey } from '../../keys/key-file.js';

export interface KubernetesApp {
  org: string;
  name: string;
  /** The digest of the settings: other settings, another revision. */
  revision: string;
  /** What this deployment is for; null: nobody said. */
  message: string | null;
  /** The container image of chasqui, see the Containerfile; best with its digest. */
  image: string;
  auth: 'private' | 'public';
  /** What opens a private app; their hashes are put into a Secret. */
  keys: readonly StoredKey[];
  /** What its script says, as JSON: what a pod fetches, and how that is loaded. */
  options: string;
  /** Where files come from that are not at the usual ports of the web. */
  fetchPorts: readonly number[];
  /** Requests that a runner computes at the same time. */
  slots: number;
  machine: {
    /** Cores; null: no request for any. */
    cpu: number | null;
    /** A quantity of Kubernetes, such as `8Gi`. */
    memory: string;
    /** NVIDIA GPUs. */
    gpu: number;
  };
  scale: { min: number; max: number; keepAliveSeconds: number };
  timeouts: { startSeconds: number; requestSeconds: number; drainSeconds: number };
  strategy: 'rolling' | 'recreate';
  /** Where fetched weights are kept; null: nowhere, each pod fetches its own. */
  weights: { size: string; storageClass: string | null } | null;
  /** Variables from a Secret that exists already; null: none. Those of the hub, such as HF_TOKEN, are for fetching alone. */
  secret: { name: string; variables: readonly string[] } | null;
  /** The Gateway that the app's HTTPRoute is attached to; null: no route is made. */
  gateway: { name: string; namespace: string | null; host: string | null } | null;
  /** `keda-http`: between 0 and `scale.max` pods, by KEDA's HTTP add-on; null: always `scale.min`, and at least one. */
  scaler: { kind: 'keda-http'; host: string } | null;
  /** The service of the endpoint picker that chooses a pod for each request; null: the Service does. */
  endpointPicker: { name: string; port: number } | null;
}

/** Of a Deployment, a Service and so on. Its fields are those of Kubernetes' own reference. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

/** Objects of one app have this label; it is how those that are no longer needed are found. */
export const APP_LABEL = 'chasqui.dev/app';
export const REVISION_LABEL = 'chasqui.dev/revision';
/** Kubernetes' own, which `kubectl rollout history` shows and each revision keeps. */
export const MESSAGE_ANNOTATION = 'kubernetes.io/change-cause';
/** All that is deployed by this program; a label and its value. */
export const MANAGED = 'app.kubernetes.io/managed-by=chasqui';
