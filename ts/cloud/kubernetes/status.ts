/** What a cluster says about an app, in the words that the cloud of one machine uses. */

import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, MANAGED, REVISION_LABEL } from './kubernetes-app.js';

export type PodState = 'pending' | 'loading' | 'ready' | 'draining' | 'crashed';

export interface PodStatus {
  name: string;
  state: PodState;
  /** Why it is in this state, where the cluster says so. */
  reason: string | null;
  restarts: number;
  revision: string | null;
}

/** A template of pods that the cluster still has, of which it can go back to. */
export interface PodRevision {
  /** As the cluster counts them. */
  number: number;
  /** The digest of the script's settings. */
  revision: string | null;
  /** How many pods have it. */
  pods: number;
  created_at: string | null;
}

export interface AppStatus {
  state: 'ready' | 'deploying' | 'asleep' | 'failed';
  reason: string | null;
  wanted: number;
  ready: number;
  pods: PodStatus[];
}

export interface ListedApp extends Omit<AppStatus, 'pods'> {
  org: string;
  app: string;
  /** The digest of the script's settings. */
  revision: string | null;
  image: string | null;
}

interface Pod {
  metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string };
  status?: {
    phase?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: {
      ready: boolean;
      restartCount: number;
      state?: { waiting?: { reason?: string; message?: string }; terminated?: { reason?: string; exitCode: number } };
    }[];
  };
}

export interface Deployment {
  metadata?: { generation?: number };
  spec?: {
    replicas?: number;
    progressDeadlineSeconds?: number;
    template?: {
      metadata?: { labels?: Record<string, string> };
      spec?: { containers?: { image?: string; args?: string[] }[] };
    };
  };
  status?: {
    observedGeneration?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

interface ReplicaSet {
  metadata: { annotations?: Record<string, string>; labels?: Record<string, string>; creationTimestamp?: string };
  status?: { replicas?: number };
}

/** By which Kubernetes numbers the templates of a Deployment. */
const NUMBER = 'deployment.kubernetes.io/revision';

/** null: the cluster has no such app. */
export async function readStatus(cluster: Cluster, app: string): Promise<AppStatus | null> {
  const [deployment, pods] = await Promise.all([readDeployment(cluster, app), itemsOf<Pod>(cluster, 'pods', app)]);
  return deployment === null ? null : toStatus(deployment, pods);
}

export async function readDeployment(cluster: Cluster, app: string): Promise<Deployment | null> {
  return (await itemsOf<Deployment>(cluster, 'deployments.apps', app))[0] ?? null;
}

/** Apps of this program in the namespace. */
export async function listApps(cluster: Cluster): Promise<ListedApp[]> {
  const args = ['get', 'deployments.apps', `--selector=${MANAGED}`, '--output=json'];
  const { items } = JSON.parse(await kubectl(cluster, args)) as { items: Deployment[] };
  return items.map((deployment) => {
    const { pods, ...status } = toStatus(deployment, []);
    const { metadata, spec } = deployment.spec?.template ?? {};
    const { image = null, args: given = [] } = spec?.containers?.[0] ?? {};
    const said = (flag: string) => given[given.indexOf(flag) + 1] ?? '';
    const revision = metadata?.labels?.[REVISION_LABEL] ?? null;
    return { org: said('--org'), app: said('--app'), ...status, revision, image };
  });
}

/** The newest last. */
export async function readRevisions(cluster: Cluster, app: string): Promise<PodRevision[]> {
  const sets = await itemsOf<ReplicaSet>(cluster, 'replicasets.apps', app);
  return sets
    .map(({ metadata, status }) => ({
      number: Number(metadata.annotations?.[NUMBER] ?? 0),
      revision: metadata.labels?.[REVISION_LABEL] ?? null,
      pods: status?.replicas ?? 0,
      created_at: metadata.creationTimestamp ?? null,
    }))
    .sort((one, other) => one.number - other.number);
}

async function itemsOf<Item>(cluster: Cluster, kind: string, app: string): Promise<Item[]> {
  const output = await kubectl(cluster, ['get', kind, `--selector=${APP_LABEL}=${app}`, '--output=json']);
  return (JSON.parse(output) as { items: Item[] }).items;
}

export function toStatus(deployment: Deployment, pods: readonly Pod[]): AppStatus {
  const { metadata = {}, spec = {}, status = {} } = deployment;
  const wanted = spec.replicas ?? 1;
  const { readyReplicas = 0, updatedReplicas = 0, observedGeneration = 0, conditions = [] } = status;
  // Until the cluster has seen a change, what it says is about the time before.
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const stuck = isSeen && conditions.find(({ type, status: is }) => type === 'Progressing' && is === 'False');
  const isComplete = isSeen && readyReplicas >= wanted && updatedReplicas >= wanted;
  return {
    state: stuck ? 'failed' : !isComplete ? 'deploying' : wanted === 0 ? 'asleep' : 'ready',
    reason: stuck ? (stuck.message ?? null) : null,
    wanted,
    ready: readyReplicas,
    pods: pods.map(toPodStatus),
  };
}

function toPodStatus({ metadata, status = {} }: Pod): PodStatus {
  const container = status.containerStatuses?.[0];
  const { waiting, terminated } = container?.state ?? {};
  const unscheduled = status.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False');
  return {
    name: metadata.name,
    state: stateOf(metadata.deletionTimestamp !== undefined, container?.ready === true, status.phase, waiting?.reason),
    reason: waiting?.message ?? waiting?.reason ?? terminated?.reason ?? unscheduled?.message ?? null,
    restarts: container?.restartCount ?? 0,
    revision: metadata.labels?.[REVISION_LABEL] ?? null,
  };
}

function stateOf(leaves: boolean, isReady: boolean, phase = 'Pending', waiting?: string): PodState {
  if (leaves) return 'draining';
  if (phase === 'Failed' || waiting === 'CrashLoopBackOff') return 'crashed';
  if (isReady) return 'ready';
  return phase === 'Running' ? 'loading' : 'pending';
}
