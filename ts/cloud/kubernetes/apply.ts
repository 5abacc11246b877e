/** Brings an app's objects into a cluster, and takes away those that it no longer has. */

import { ChasquiError } from '../../errors.js';
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, type KubernetesObject } from './kubernetes-app.js';
import { ADD_ONS, CORE_KINDS } from './objects.js';
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

interface ApplyOptions {
  force?: boolean;
  signal?: AbortSignal;
}

/**
 * Applies on the server, so that fields which others own stay as they are; a field that another one has changed is a
 * conflict and fails, unless `force` takes it over. What the cluster refuses of one object changes none of them.
 */
export async function applyObjects(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  options: ApplyOptions = {},
): Promise<Applied> {
  const kinds = await kindsOf(cluster);
  refuseMissingAddOns(kinds, objects);
  await refuseNamesOfOthers(cluster, objects);
  await apply(cluster, objects, ['--dry-run=server'], options);
  const applied = await addObjects(cluster, objects, options);
  const app = objects[0]?.metadata.labels[APP_LABEL] ?? '';
  const others = (await namesOf(cluster, kinds, app)).filter((name) => !applied.includes(name));
  const kept = others.filter(isVolume);
  const removed = others.filter((name) => !isVolume(name));
  await remove(cluster, removed);
  return { applied, removed, kept };
}

/** Applies objects and takes none away. Returns their names. */
export async function addObjects(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  options: ApplyOptions = {},
): Promise<string[]> {
  const output = await apply(cluster, objects, [], options);
  return output.split('\n').filter((line) => line !== '');
}

async function apply(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  more: readonly string[],
  { force = false, signal }: ApplyOptions,
): Promise<string> {
  const args = ['apply', '--server-side', `--field-manager=${MANAGER}`, '--output=name', '--filename=-', ...more];
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  try {
    return await kubectl(cluster, force ? [...args, '--force-conflicts'] : args, {
      input: JSON.stringify(list),
      ...(signal && { signal }),
    });
  } catch (error) {
    throw conflictIn(error) ?? error;
  }
}

/** Kubectl goes on with advice for its own options. */
function conflictIn(error: unknown): ChasquiError | null {
  if (!(error instanceof ChasquiError)) return null;
  const [, conflict] =
    /(Apply failed with \d+ conflicts?: .*?)(?:\nPlease review the fields above|$)/s.exec(error.message) ?? [];
  if (conflict === undefined) return null;
  const message = `Another program has changed what would be deployed: \`takeOver\` applies it all the same. ${conflict}`;
  return new ChasquiError('deployment_refused', message);
}

/** Kubectl would apply the others. */
function refuseMissingAddOns(kinds: ReadonlySet<string>, objects: readonly KubernetesObject[]): void {
  for (const { kind } of objects) {
    const addOn = ADD_ONS[kind];
    if (addOn === undefined || kinds.has(addOn.kinds)) continue;
    throw new ChasquiError(
      'invalid_options',
      `The cluster has no kind ${kind}: it comes with ${addOn.name}, which is not installed there. \`${addOn.option}\` needs it.`,
    );
  }
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
  const names = await namesOf(cluster, await kindsOf(cluster), app);
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

/**
 * What the cluster knows, as `kubectl get` names it. A part of its API that another program answers for may be out of order,
 * as metrics often are: then kubectl lists the rest, and fails.
 */
async function kindsOf(cluster: Cluster): Promise<ReadonlySet<string>> {
  const args = ['api-resources', '--verbs=list', '--namespaced', '--output=name'];
  return new Set((await kubectl(cluster, args, { takesParts: true })).split('\n'));
}

/** All objects that the cluster has of an app. */
async function namesOf(cluster: Cluster, known: ReadonlySet<string>, app: string): Promise<string[]> {
  // A cluster that lacks an add-on knows nothing of its kinds, and kubectl fails when it is asked for them.
  const addOns = Object.values(ADD_ONS).map((addOn) => addOn.kinds);
  const kinds = [...CORE_KINDS, ...addOns].filter((kind) => known.has(kind));
  if (kinds.length === 0) return [];
  const args = ['get', kinds.join(','), `--selector=${APP_LABEL}=${app}`, '--output=name', '--ignore-not-found'];
  return (await kubectl(cluster, args)).split('\n').filter((line) => line !== '');
}
