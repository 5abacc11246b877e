/** Brings an app's objects into a cluster, and takes away those that it no longer has. */

import { ChasquiError } from '../../errors.js';
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, type KubernetesObject } from './kubernetes-app.js';
import { KINDS } from './objects.js';
import { appOf, type Deployment } from './status.js';

/** Names this program among those that change an object's fields. */
const MANAGER = 'chasqui';

export interface Applied {
  /** As kubectl names them, such as `deployment.apps/acme-chat`. */
  applied: string[];
  removed: string[];
  /** What the app no longer names, and might miss: a volume with fetched weights. */
  kept: string[];
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
  await refuseNamesOfOthers(cluster, objects);
  const applied = await addObjects(cluster, objects, { force, ...(signal && { signal }) });
  const app = objects[0]?.metadata.labels[APP_LABEL] ?? '';
  const others = (await namesOf(cluster, app)).filter((name) => !applied.includes(name));
  const kept = others.filter(isVolume);
  const removed = others.filter((name) => !isVolume(name));
  await remove(cluster, removed);
  return { applied, removed, kept };
}

/** Applies objects and takes none away. Returns their names. */
export async function addObjects(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  { force = false, signal }: { force?: boolean; signal?: AbortSignal } = {},
): Promise<string[]> {
  const args = ['apply', '--server-side', `--field-manager=${MANAGER}`, '--output=name', '--filename=-'];
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const output = await kubectl(cluster, force ? [...args, '--force-conflicts'] : args, {
    input: JSON.stringify(list),
    ...(signal && { signal }),
  });
  return output.split('\n').filter((line) => line !== '');
}

/** What has the names already is to be the same app's, or it would be changed into something else. */
async function refuseNamesOfOthers(cluster: Cluster, objects: readonly KubernetesObject[]): Promise<void> {
  const own = objects.find(({ kind }) => kind === 'Deployment');
  if (own === undefined) return;
  const { name, labels } = own.metadata;
  const kinds = ['deployments.apps', 'services', 'serviceaccounts'].map((kind) => `${kind}/${name}`);
  const found = await kubectl(cluster, ['get', ...kinds, '--ignore-not-found', '--output=json']);
  const { items } = (found === '' ? { items: [] } : JSON.parse(found)) as { items: KubernetesObject[] };
  const isForeign = ({ metadata }: KubernetesObject) => metadata.labels?.[APP_LABEL] !== labels[APP_LABEL];
  const foreign = items.find(isForeign);
  if (foreign !== undefined) throw nameTaken(`has a ${foreign.kind} ${name} that is none of chasqui's`);
  const there = items.find(({ kind }) => kind === 'Deployment');
  if (there === undefined) return;
  const [old, now] = [appOf(there as Deployment), appOf(own as Deployment)];
  if (old.org === now.org && old.app === now.app) return;
  throw nameTaken(`calls ${old.org}/${old.app} ${name}, too, so that there is no name for ${now.org}/${now.app}`);
}

function nameTaken(what: string): ChasquiError {
  return new ChasquiError(
    'invalid_options',
    `The cluster ${what}: choose another \`appName\`, \`org\` or \`namespace\`.`,
  );
}

/** Removes everything of an app but the weights, which may have taken long to fetch, unless `weights` says so. */
export async function deleteApp(
  cluster: Cluster,
  app: string,
  { weights = false } = {},
): Promise<Pick<Applied, 'removed' | 'kept'>> {
  const names = await namesOf(cluster, app);
  const kept = names.filter((name) => !weights && isVolume(name));
  const removed = names.filter((name) => !kept.includes(name));
  await remove(cluster, removed);
  return { removed, kept };
}

function isVolume(name: string): boolean {
  return name.startsWith('persistentvolumeclaim/');
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
