/** Changes and logs of an app in a cluster, by kubectl's own commands. */
import { type Cluster, followKubectl, kubectl } from './kubectl.js';
import { APP_LABEL } from './kubernetes-app.js';

/** Lines per container. */
const LOG_LINES = 1000;
/** Maximum number of containers; each pod has two. */
const MAX_FOLLOWED = 100;

/** Scales until the next deployment. */
export async function scaleApp(cluster: Cluster, app: string, pods: number): Promise<void> {
  await kubectl(cluster, ['scale', `deployment/${app}`, `--replicas=${pods}`]);
}

/** Replaces all pods with a rolling update. */
export async function restartApp(cluster: Cluster, app: string): Promise<void> {
  await kubectl(cluster, ['rollout', 'restart', `deployment/${app}`]);
}

/** `revision`: null for the previous one. Keys and their Secret do not change. */
export async function rollBackApp(cluster: Cluster, app: string, revision: number | null): Promise<void> {
  const which = revision === null ? [] : [`--to-revision=${revision}`];
  await kubectl(cluster, ['rollout', 'undo', `deployment/${app}`, ...which]);
}

export interface PodLine {
  pod: string;
  container: string;
  text: string;
}

/** Timestamp of the last line by container name. */
export type LogCursor = Map<string, string>;

/**
 * Reads the logs of all containers, including those that fetch models. Resolves at the end of the logs. With the same
 * cursor, another call continues there, with the pods of that time.
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
    // Format: `[pod/acme-chat-5d9/runner] 2026-11-01T10:00:00.123456789Z text`.
    const [, pod, container, at, text] = /^\[pod\/([^/\]]+)\/([^\]]+)\] (\S+) ?(.*)$/s.exec(line) ?? [];
    if (pod === undefined || container === undefined || at === undefined || text === undefined) return;
    const key = `${pod}/${container}`;
    if (at <= (before.get(key) ?? '')) return;
    cursor.set(key, at);
    onLine({ pod, container, text });
  });
}
