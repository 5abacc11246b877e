/** What a cluster says about an app, in the words that the cloud of one machine uses. */

import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, REVISION_LABEL } from './kubernetes-app.js';

export type PodState = 'pending' | 'loading' | 'ready' | 'draining' | 'crashed';

export interface PodStatus {
  name: string;
  state: PodState;
  /** Why it is in this state, where the cluster says so. */
  reason: string | null;
  restarts: number;
  revision: string | null;
}

export interface AppStatus {
  state: 'ready' | 'deploying' | 'asleep' | 'failed';
  reason: string | null;
  wanted: number;
  ready: number;
  pods: PodStatus[];
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

interface Deployment {
  spec?: { replicas?: number };
  status?: {
    readyReplicas?: number;
    updatedReplicas?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/** null: the cluster has no such app. */
export async function readStatus(cluster: Cluster, app: string): Promise<AppStatus | null> {
  const selector = `--selector=${APP_LABEL}=${app}`;
  const [deployments, pods] = await Promise.all([
    kubectl(cluster, ['get', 'deployments.apps', selector, '--output=json']),
    kubectl(cluster, ['get', 'pods', selector, '--output=json']),
  ]);
  const [deployment] = (JSON.parse(deployments) as { items: Deployment[] }).items;
  if (deployment === undefined) return null;
  return toStatus(deployment, (JSON.parse(pods) as { items: Pod[] }).items);
}

export function toStatus(deployment: Deployment, pods: readonly Pod[]): AppStatus {
  const wanted = deployment.spec?.replicas ?? 1;
  const { readyReplicas = 0, updatedReplicas = 0, conditions = [] } = deployment.status ?? {};
  const stuck = conditions.find(({ type, status }) => type === 'Progressing' && status === 'False');
  const isComplete = readyReplicas >= wanted && updatedReplicas >= wanted;
  return {
    state: stuck ? 'failed' : wanted === 0 ? 'asleep' : isComplete ? 'ready' : 'deploying',
    reason: stuck?.message ?? null,
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
