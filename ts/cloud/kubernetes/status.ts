/** What a cluster says about an app, in the words that the cloud of one machine uses. */

import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, MANAGED, MESSAGE_ANNOTATION, REVISION_LABEL } from './kubernetes-app.js';
import { KEYS_SUFFIX } from './names.js';
import { FETCHER } from './pod.js';

export type PodState = 'pending' | 'fetching' | 'loading' | 'ready' | 'draining' | 'crashed';

export interface PodStatus {
  name: string;
  state: PodState;
  /** Why it is in this state, or how far it has come, where the cluster says so. */
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
  /** What its deployment was said to be for. */
  message: string | null;
}

export interface AppStatus {
  state: 'ready' | 'deploying' | 'asleep' | 'failed';
  reason: string | null;
  /** The digest of the settings that new pods get. */
  revision: string | null;
  wanted: number;
  ready: number;
  pods: PodStatus[];
}

export interface ListedApp extends Omit<AppStatus, 'pods'> {
  org: string;
  app: string;
  image: string | null;
}

interface Pod {
  metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string };
  status?: {
    phase?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

interface Ended {
  reason?: string;
  message?: string;
  exitCode: number;
}

interface ContainerStatus {
  ready: boolean;
  restartCount: number;
  state?: { waiting?: { reason?: string; message?: string }; running?: object; terminated?: Ended };
  lastState?: { terminated?: Ended };
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
    /** Those of earlier templates are counted, too. */
    replicas?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

interface ReplicaSet {
  metadata: { annotations?: Record<string, string>; labels?: Record<string, string>; creationTimestamp?: string };
  spec?: { template?: { spec?: { volumes?: { secret?: { secretName?: string } }[] } } };
  status?: { replicas?: number };
}

/** By which Kubernetes numbers the templates of a Deployment. */
const NUMBER = 'deployment.kubernetes.io/revision';

/** A status does not wait for the logs of more pods than people read. */
const MAX_PROGRESS = 8;

/** null: the cluster has no such app. */
export async function readStatus(cluster: Cluster, app: string): Promise<AppStatus | null> {
  const [deployment, pods] = await Promise.all([readDeployment(cluster, app), itemsOf<Pod>(cluster, 'pods', app)]);
  if (deployment === null) return null;
  const status = toStatus(deployment, pods);
  const fetching = status.pods.filter(({ state }) => state === 'fetching').slice(0, MAX_PROGRESS);
  await Promise.all(
    fetching.map(async (pod) => {
      pod.reason ??= await readProgress(cluster, pod.name);
    }),
  );
  return status;
}

/** What a pod says is shown in terminals, which it must not control. */
const CONTROL = /\p{Cc}+/gu;

/** What it said last. Those who may look at pods need not be allowed to read their logs. */
async function readProgress(cluster: Cluster, pod: string): Promise<string | null> {
  try {
    return (
      (await kubectl(cluster, ['logs', pod, `--container=${FETCHER}`, '--tail=1'])).replaceAll(CONTROL, ' ').trim() ||
      null
    );
  } catch {
    return null;
  }
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
    return { ...appOf(deployment), ...status, image: deployment.spec?.template?.spec?.containers?.[0]?.image ?? null };
  });
}

/** Whose deployment it is; what is none of ours has empty names. */
export function appOf({ spec }: Deployment): { org: string; app: string } {
  const given = spec?.template?.spec?.containers?.[0]?.args ?? [];
  const said = (flag: string) => (given.includes(flag) ? (given[given.indexOf(flag) + 1] ?? '') : '');
  return { org: said('--org'), app: said('--app') };
}

/** The newest last. */
export async function readRevisions(cluster: Cluster, app: string): Promise<PodRevision[]> {
  const sets = await itemsOf<ReplicaSet>(cluster, 'replicasets.apps', app);
  return sets
    .map((set) => ({
      number: numberOf(set),
      revision: set.metadata.labels?.[REVISION_LABEL] ?? null,
      pods: set.status?.replicas ?? 0,
      created_at: set.metadata.creationTimestamp ?? null,
      message: set.metadata.annotations?.[MESSAGE_ANNOTATION] ?? null,
    }))
    .sort((one, other) => one.number - other.number);
}

/**
 * Whether pods of an earlier revision (null: of the one before) would wait for a Secret with keys that is not there: a
 * deployment for everybody has taken it away. False where there is no such revision.
 */
export async function lacksKeys(cluster: Cluster, app: string, revision: number | null): Promise<boolean> {
  const sets = (await itemsOf<ReplicaSet>(cluster, 'replicasets.apps', app)).sort((one, other) => {
    return numberOf(other) - numberOf(one);
  });
  const wanted = revision === null ? sets[1] : sets.find((set) => numberOf(set) === revision);
  const secret = `${app}${KEYS_SUFFIX}`;
  const volumes = wanted?.spec?.template?.spec?.volumes ?? [];
  if (!volumes.some((volume) => volume.secret?.secretName === secret)) return false;
  return (await kubectl(cluster, ['get', 'secret', secret, '--ignore-not-found', '--output=name'])) === '';
}

function numberOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[NUMBER] ?? 0);
}

async function itemsOf<Item>(cluster: Cluster, kind: string, app: string): Promise<Item[]> {
  const output = await kubectl(cluster, ['get', kind, `--selector=${APP_LABEL}=${app}`, '--output=json']);
  return (JSON.parse(output) as { items: Item[] }).items;
}

export function toStatus(deployment: Deployment, pods: readonly Pod[]): AppStatus {
  const { metadata = {}, spec = {}, status = {} } = deployment;
  const wanted = spec.replicas ?? 1;
  const { replicas = 0, readyReplicas = 0, updatedReplicas = 0, observedGeneration = 0, conditions = [] } = status;
  // Until the cluster has seen a change, what it says is about the time before.
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const stuck = isSeen && conditions.find(({ type, status: is }) => type === 'Progressing' && is === 'False');
  // While pods of an earlier template are there, it is they who may be ready.
  const isComplete = isSeen && readyReplicas >= wanted && updatedReplicas >= wanted && replicas <= updatedReplicas;
  // Pods that the cluster refuses to make, because of a quota for one, are none that could say why they are not ready.
  const refused = !isComplete && conditions.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True');
  return {
    state: stuck ? 'failed' : !isComplete ? 'deploying' : wanted === 0 ? 'asleep' : 'ready',
    reason: (refused || stuck || null)?.message ?? null,
    revision: spec.template?.metadata?.labels?.[REVISION_LABEL] ?? null,
    wanted,
    ready: readyReplicas,
    pods: pods.map(toPodStatus),
  };
}

function toPodStatus({ metadata, status = {} }: Pod): PodStatus {
  const [fetcher] = status.initContainerStatuses ?? [];
  const [runner] = status.containerStatuses ?? [];
  // Until what fetches has ended well, the runner waits for it and has nothing to say.
  const isFetched = fetcher === undefined || fetcher.state?.terminated?.exitCode === 0;
  const container = isFetched ? runner : fetcher;
  const unscheduled = status.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False');
  const leaves = metadata.deletionTimestamp !== undefined;
  const state = leaves ? 'draining' : stateOf(container, status.phase, isFetched);
  return {
    name: metadata.name,
    state,
    reason: reasonOf(container, state) ?? unscheduled?.message ?? null,
    restarts: (fetcher?.restartCount ?? 0) + (runner?.restartCount ?? 0),
    revision: metadata.labels?.[REVISION_LABEL] ?? null,
  };
}

function stateOf(container: ContainerStatus | undefined, phase = 'Pending', isFetched: boolean): PodState {
  const { waiting, running, terminated } = container?.state ?? {};
  const hasEnded = terminated !== undefined && terminated.exitCode !== 0;
  if (phase === 'Failed' || waiting?.reason === 'CrashLoopBackOff' || hasEnded) return 'crashed';
  if (isFetched && container?.ready) return 'ready';
  if (!isFetched && running !== undefined) return 'fetching';
  return phase === 'Running' ? 'loading' : 'pending';
}

/** What a container said last before it ended tells more than that the cluster waits before it starts it again. */
function reasonOf(container: ContainerStatus | undefined, state: PodState): string | null {
  const { waiting, terminated } = container?.state ?? {};
  const ended = state === 'crashed' ? (terminated ?? container?.lastState?.terminated) : undefined;
  const lines = ended?.message?.trimEnd().split('\n') ?? [];
  // After an error of its own, Node says its version.
  const said = lines.filter((line) => /^(chasqui: |\w*Error\b)/.test(line)).at(-1) ?? lines.at(-1);
  const how = ended && (ended.reason === 'Error' ? `it ended with exit code ${ended.exitCode}` : ended.reason);
  const initializing = waiting?.reason === 'PodInitializing' ? null : waiting;
  return said?.replaceAll(CONTROL, ' ') || how || (initializing?.message ?? initializing?.reason ?? null);
}
