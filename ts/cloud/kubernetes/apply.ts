/** Brings an app's objects into a cluster, and takes away those that it no longer has. */

import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, type KubernetesObject } from './kubernetes-app.js';
import { KINDS } from './objects.js';

/** Names this program among those that change an object's fields. */
const MANAGER = 'chasqui';

export interface Applied {
  /** As kubectl names them, such as `deployment.apps/acme-chat`. */
  applied: string[];
  removed: string[];
}

/**
 * Applies on the server, so that fields which others own stay as they are; a field that another one has changed is a
 * conflict and fails, unless `force` takes it over.
 */
export async function applyObjects(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  { force = false, signal }: { force?: boolean; signal?: AbortSignal } = {},
): Promise<Applied> {
  const args = ['apply', '--server-side', `--field-manager=${MANAGER}`, '--output=name', '--filename=-'];
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const output = await kubectl(cluster, force ? [...args, '--force-conflicts'] : args, {
    input: JSON.stringify(list),
    ...(signal && { signal }),
  });
  const applied = output.split('\n').filter((line) => line !== '');
  const app = objects[0]?.metadata.labels[APP_LABEL] ?? '';
  const removed = (await namesOf(cluster, app)).filter((name) => !applied.includes(name));
  await remove(cluster, removed);
  return { applied, removed };
}

/** Removes everything of an app but the weights, which may have taken long to fetch, unless `weights` says so. */
export async function deleteApp(cluster: Cluster, app: string, { weights = false } = {}): Promise<string[]> {
  const names = (await namesOf(cluster, app)).filter((name) => weights || !name.startsWith('persistentvolumeclaim/'));
  await remove(cluster, names);
  return names;
}

async function remove(cluster: Cluster, names: readonly string[]): Promise<void> {
  if (names.length > 0) await kubectl(cluster, ['delete', '--ignore-not-found', '--wait=false', ...names]);
}

/** All objects that the cluster has of an app. */
async function namesOf(cluster: Cluster, app: string): Promise<string[]> {
  const known = new Set(
    (await kubectl(cluster, ['api-resources', '--verbs=list', '--namespaced', '--output=name'])).split('\n'),
  );
  // A cluster that lacks an add-on knows nothing of its kinds, and kubectl fails when it is asked for them.
  const kinds = [...KINDS.core, ...KINDS.addOns].filter((kind) => known.has(kind));
  if (kinds.length === 0) return [];
  const args = ['get', kinds.join(','), `--selector=${APP_LABEL}=${app}`, '--output=name', '--ignore-not-found'];
  return (await kubectl(cluster, args)).split('\n').filter((line) => line !== '');
}
