/** Status of an app in a cluster, in the terms of the single-machine cloud. */

import { withoutControls } from '../../process/fork-script.js';
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, KEYS_SUFFIX, MANAGED, MESSAGE_ANNOTATION, REVISION_LABEL } from './kubernetes-app.js';
import { FETCHER } from './pod.js';

export type PodState = 'pending' | 'fetching' | 'loading' | 'ready' | 'draining' | 'crashed';

export interface PodStatus {
  name: string;
  state: PodState;
  reason: string | null;
  restarts: number;
  revision: string | null;
}

/** A pod template that the cluster keeps for rollbacks. */
export interface PodRevision {
  /** Number in the cluster. */
  number: number;
  revision: string | null;
  pods: number;
  created_at: string | null;
  message: string | null;
}

export interface AppStatus {
  state: 'ready' | 'deploying' | 'asleep' | 'failed';
  reason: string | null;
  /** Digest of the settings of new pods. */
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
    /** Includes pods of earlier templates. */
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

const NUMBER = 'deployment.kubernetes.io/revision';

/** A status reads the logs of at most this many pods. */
const MAX_PROGRESS = 8;

/** Returns null if the cluster does not have the app. */
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

/** The last log line, or null, for example without permission to read logs. */
async function readProgress(cluster: Cluster, pod: string): Promise<string | null> {
  try {
    const line = await kubectl(cluster, ['logs', pod, `--container=${FETCHER}`, '--tail=1']);
    return withoutControls(line).trim() || null;
  } catch {
    return null;
  }
}

export async function readDeployment(cluster: Cluster, app: string): Promise<Deployment | null> {
  return (await itemsOf<Deployment>(cluster, 'deployments.apps', app))[0] ?? null;
}

/** Apps of chasqui in the namespace. */
export async function listApps(cluster: Cluster): Promise<ListedApp[]> {
  const args = ['get', 'deployments.apps', `--selector=${MANAGED}`, '--output=json'];
  const { items } = JSON.parse(await kubectl(cluster, args)) as { items: Deployment[] };
  return items.map((deployment) => {
    const { pods, ...status } = toStatus(deployment, []);
    return { ...appOf(deployment), ...status, image: deployment.spec?.template?.spec?.containers?.[0]?.image ?? null };
  });
}

/** Organisation and app of a deployment; empty for foreign deployments. */
export function appOf({ spec }: Deployment): { org: string; app: string } {
  const given = spec?.template?.spec?.containers?.[0]?.args ?? [];
  const flagValue = (flag: string) => (given.includes(flag) ? (given[given.indexOf(flag) + 1] ?? '') : '');
  return { org: flagValue('--org'), app: flagValue('--app') };
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
 * Whether pods of an earlier revision (null: the previous one) would wait for a missing Secret with keys, which the
 * deployment of a public app has deleted. False without such a revision.
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
  // Until the cluster has observed a change, its status is outdated.
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const stuck = isSeen && conditions.find(({ type, status: is }) => type === 'Progressing' && is === 'False');
  // Ready pods may still be those of an earlier template.
  const isComplete = isSeen && readyReplicas >= wanted && updatedReplicas >= wanted && replicas <= updatedReplicas;
  // Pods that the cluster cannot create, for example because of a quota, have no status of their own.
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
  // The runner starts after the fetcher has succeeded.
  const isFetched = fetcher === undefined || fetcher.state?.terminated?.exitCode === 0;
  const container = isFetched ? runner : fetcher;
  const unscheduled = status.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False');
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const state = isTerminating ? 'draining' : stateOf(container, status.phase, isFetched);
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

/** The last log lines of a crashed container say more than its state `waiting`. */
function reasonOf(container: ContainerStatus | undefined, state: PodState): string | null {
  const { waiting, terminated } = container?.state ?? {};
  const ended = state === 'crashed' ? (terminated ?? container?.lastState?.terminated) : undefined;
  const lines = ended?.message?.trimEnd().split('\n') ?? [];
  // Node prints its version after an error.
  const lastLine = lines.filter((line) => /^(chasqui: |\w*Error\b)/.test(line)).at(-1) ?? lines.at(-1);
  const how = ended && (ended.reason === 'Error' ? `it ended with exit code ${ended.exitCode}` : ended.reason);
  const initializing = waiting?.reason === 'PodInitializing' ? null : waiting;
  return (lastLine && withoutControls(lastLine)) || how || (initializing?.message ?? initializing?.reason ?? null);
}
