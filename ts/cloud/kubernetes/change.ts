/** Changes of an app that is in a cluster, each by kubectl's own command for it. */
import { type Cluster, followKubectl, kubectl } from './kubectl.js';
import { APP_LABEL } from './kubernetes-app.js';

/** Of a pod's log, when nobody follows it. */
const LOG_LINES = 1000;
/** Each pod has two that write. */
const MAX_FOLLOWED = 100;

/** So many pods, until the next deployment says something else. */
export async function scaleApp(cluster: Cluster, app: string, pods: number): Promise<void> {
  await kubectl(cluster, ['scale', `deployment/${app}`, `--replicas=${pods}`]);
}

/** New pods take the place of the old ones, as with a deployment. */
export async function restartApp(cluster: Cluster, app: string): Promise<void> {
  await kubectl(cluster, ['rollout', 'restart', `deployment/${app}`]);
}

/** Pods as an earlier revision has them; null: the one before. Keys, and the Secret with them, stay as they are. */
export async function rollBackApp(cluster: Cluster, app: string, revision: number | null): Promise<void> {
  const which = revision === null ? [] : [`--to-revision=${revision}`];
  await kubectl(cluster, ['rollout', 'undo', `deployment/${app}`, ...which]);
}

/** A line that a container of a pod has written. */
export interface PodLine {
  pod: string;
  container: string;
  text: string;
}

/** By the container, as kubectl calls it: when it wrote the last line that was read. */
export type LogCursor = Map<string, string>;

/**
 * What its pods write, those containers too that have fetched their models. Ends with them, or when there is no more; called
 * with the same cursor it then goes on after what was read, in the pods that there are by then.
 */
export async function readLogs(
  cluster: Cluster,
  app: string,
  { follow, cursor }: { follow: boolean; cursor: LogCursor },
  onLine: (line: PodLine) => void,
): Promise<void> {
  const before = new Map(cursor);
  const args = ['logs', `--selector=${APP_LABEL}=${app}`, '--all-containers', '--prefix', '--timestamps'];
  const more = ['--ignore-errors', `--tail=${LOG_LINES}`, `--max-log-requests=${MAX_FOLLOWED}`];
  await followKubectl(cluster, [...args, ...more, ...(follow ? ['--follow'] : [])], (line) => {
    // Such as `[pod/acme-chat-5d9/runner] 2026-11-01T10:00:00.123456789Z text`.
    const [, pod, container, at, text] = /^\[pod\/([^/\]]+)\/([^\]]+)\] (\S+) ?(.*)$/s.exec(line) ?? [];
    if (pod === undefined || container === undefined || at === undefined || text === undefined) return;
    const key = `${pod}/${container}`;
    if (at <= (before.get(key) ?? '')) return;
    cursor.set(key, at);
    onLine({ pod, container, text });
  });
}
