/** Changes of an app that is in a cluster, each by kubectl's own command for it. */
import { type Cluster, followKubectl, kubectl } from './kubectl.js';
import { APP_LABEL } from './kubernetes-app.js';

/** Of a pod's log, when nobody follows it. */
const LOG_LINES = 1000;
const MAX_FOLLOWED = 50;

/** So many pods, until the next deployment says something else. */
export async function scaleApp(cluster: Cluster, app: string, pods: number): Promise<void> {
  await kubectl(cluster, ['scale', `deployment/${app}`, `--replicas=${pods}`]);
}

/** New pods take the place of the old ones, as with a deployment. */
export async function restartApp(cluster: Cluster, app: string): Promise<void> {
  await kubectl(cluster, ['rollout', 'restart', `deployment/${app}`]);
}

/** Pods as an earlier revision has them; null: the one before. Keys stay as they are. */
export async function rollBackApp(cluster: Cluster, app: string, revision: number | null): Promise<void> {
  const which = revision === null ? [] : [`--to-revision=${revision}`];
  await kubectl(cluster, ['rollout', 'undo', `deployment/${app}`, ...which]);
}

/** What its pods write, each line with the pod that it is from. Ends with them, or when there is no more. */
export async function readLogs(
  cluster: Cluster,
  app: string,
  { follow, since }: { follow: boolean; since: Date | null },
  onLine: (pod: string, text: string) => void,
): Promise<void> {
  const args = ['logs', `--selector=${APP_LABEL}=${app}`, '--prefix', '--ignore-errors', `--tail=${LOG_LINES}`];
  const more = [
    ...(follow ? ['--follow', `--max-log-requests=${MAX_FOLLOWED}`] : []),
    ...(since === null ? [] : [`--since-time=${since.toISOString()}`]),
  ];
  await followKubectl(cluster, [...args, ...more], (line) => {
    // Such as `[pod/acme-chat-5d9/runner] text`.
    const [, pod = '-', text = line] = /^\[pod\/([^/\]]+)\/[^\]]+\] (.*)$/s.exec(line) ?? [];
    onLine(pod, text);
  });
}
