/** Applies the objects of an app to a cluster and deletes those it no longer has. */

import { ChasquiError, invalidOptions } from '../../errors.js';
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL, type KubernetesObject } from './kubernetes-app.js';
import { ADD_ONS, CORE_KINDS } from './objects.js';
import { appOf, type Deployment } from './status.js';

/** Field manager of server-side apply. */
const MANAGER = 'chasqui';

export interface Applied {
  /** Names as kubectl prints them, such as `deployment.apps/acme-chat`. */
  applied: string[];
  removed: string[];
  /** Unused objects that were not deleted: volumes with fetched weights. */
  kept: string[];
}

interface ApplyOptions {
  force?: boolean;
  signal?: AbortSignal;
}

/**
 * Server-side apply: fields of other managers stay unchanged. A field that another manager has changed is a conflict,
 * unless `force` takes it over. Fails without any change if the cluster rejects one of the objects.
 */
export async function applyObjects(
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  options: ApplyOptions = {},
): Promise<Applied> {
  const kinds = await kindsOf(cluster);
  refuseMissingAddOns(kinds, objects);
  await refuseTakenNames(cluster, objects);
  await apply(cluster, objects, ['--dry-run=server'], options);
  const applied = await addObjects(cluster, objects, options);
  const app = objects[0]?.metadata.labels[APP_LABEL] ?? '';
  const others = (await namesOf(cluster, kinds, app)).filter((name) => !applied.includes(name));
  const kept = others.filter(isVolume);
  const removed = others.filter((name) => !isVolume(name));
  await remove(cluster, removed);
  return { applied, removed, kept };
}

/** Applies objects without deleting any. Returns their names. */
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

/** Drops kubectl's advice about its own options. */
function conflictIn(error: unknown): ChasquiError | null {
  if (!(error instanceof ChasquiError)) return null;
  const [, conflict] =
    /(Apply failed with \d+ conflicts?: .*?)(?:\nPlease review the fields above|$)/s.exec(error.message) ?? [];
  if (conflict === undefined) return null;
  const message = `Another program has changed fields of the deployment. Use \`takeOver\` to overwrite them. ${conflict}`;
  return new ChasquiError('deployment_refused', message);
}

/** Without this check kubectl would apply the other objects. */
function refuseMissingAddOns(kinds: ReadonlySet<string>, objects: readonly KubernetesObject[]): void {
  for (const { kind } of objects) {
    const addOn = ADD_ONS[kind];
    if (addOn === undefined || kinds.has(addOn.kinds)) continue;
    throw invalidOptions(
      `\`${addOn.option}\` requires ${addOn.name}, which is not installed in the cluster (kind ${kind}).`,
    );
  }
}

/** Refuses names of existing objects that belong to another app or program. */
async function refuseTakenNames(cluster: Cluster, objects: readonly KubernetesObject[]): Promise<void> {
  const own = objects.find(({ kind }) => kind === 'Deployment');
  if (own === undefined) return;
  const { name, labels } = own.metadata;
  const kinds = ['deployments.apps', 'services', 'serviceaccounts'].map((kind) => `${kind}/${name}`);
  const found = await kubectl(cluster, ['get', ...kinds, '--ignore-not-found', '--output=json']);
  const { items } = (found === '' ? { items: [] } : JSON.parse(found)) as { items: KubernetesObject[] };
  const isForeign = ({ metadata }: KubernetesObject) => metadata.labels?.[APP_LABEL] !== labels[APP_LABEL];
  const foreign = items.find(isForeign);
  if (foreign !== undefined) throw nameTaken(`has a ${foreign.kind} ${name} that chasqui does not manage`);
  const existing = items.find(({ kind }) => kind === 'Deployment');
  if (existing === undefined) return;
  const [old, now] = [appOf(existing as Deployment), appOf(own as Deployment)];
  if (old.org === now.org && old.app === now.app) return;
  throw nameTaken(`uses the name ${name} of ${now.org}/${now.app} for ${old.org}/${old.app}`);
}

function nameTaken(problem: string): ChasquiError {
  return invalidOptions(`The cluster ${problem}. Choose another \`appName\`, \`org\` or \`namespace\`.`);
}

/** Deletes an app. The weights stay unless `weights` is set, because fetching them may take long. */
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
 * Resource types of the cluster. If an API extension is down, as metrics often are, kubectl lists the rest and fails.
 */
async function kindsOf(cluster: Cluster): Promise<ReadonlySet<string>> {
  const args = ['api-resources', '--verbs=list', '--namespaced', '--output=name'];
  return new Set((await kubectl(cluster, args, { acceptsPartial: true })).split('\n'));
}

async function namesOf(cluster: Cluster, known: ReadonlySet<string>, app: string): Promise<string[]> {
  // kubectl fails for resource types of add-ons that are not installed.
  const addOns = Object.values(ADD_ONS).map((addOn) => addOn.kinds);
  const kinds = [...CORE_KINDS, ...addOns].filter((kind) => known.has(kind));
  if (kinds.length === 0) return [];
  const args = ['get', kinds.join(','), `--selector=${APP_LABEL}=${app}`, '--output=name', '--ignore-not-found'];
  return (await kubectl(cluster, args)).split('\n').filter((line) => line !== '');
}
