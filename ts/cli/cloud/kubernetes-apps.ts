/** `chasqui apps … --to kubernetes`: the same commands for apps in a cluster. */
import { addObjects, deleteApp } from '../../cloud/kubernetes/apply.js';
import {
  type LogCursor,
  type PodLine,
  readLogs,
  restartApp,
  rollBackApp,
  scaleApp,
} from '../../cloud/kubernetes/change.js';
import { type ClusterEvent, readEvents } from '../../cloud/kubernetes/events.js';
import { noKeys } from '../../cloud/kubernetes/from-manifest.js';
import { nameOf } from '../../cloud/kubernetes/kubernetes-app.js';
import { keysSecret } from '../../cloud/kubernetes/objects.js';
import {
  type AppStatus,
  lacksKeys,
  listApps,
  type PodRevision,
  type PodStatus,
  readDeployment,
  readRevisions,
  readStatus,
} from '../../cloud/kubernetes/status.js';
import { ChasquiError, invalidOptions } from '../../errors.js';
import { ownCall } from '../../own-call.js';
import { givenOptions } from '../options/table-options.js';
import { printable } from '../output/log-output.js';
import { textTable } from '../output/table.js';
import { changeLines, keysOf, untilReady } from './kubernetes.js';
import { WEIGHTS_OPTION } from './kubernetes-option-table.js';
import type { Place } from './kubernetes-place.js';
import { COMMON_OPTIONS, ROLLBACK_OPTIONS, SCALE_OPTIONS } from './option-table.js';
import { print, printJson, repeat } from './outcome.js';

type Parsed = Readonly<Record<string, unknown>>;

/** Displayed length of a digest. */
const DIGEST_LENGTH = 12;
const FOLLOW_MS = 1000;

export async function listInCluster({ cluster, json }: Place): Promise<void> {
  const apps = await listApps(cluster);
  if (json) return printJson(apps);
  if (apps.length === 0) return console.log(`No apps. Deploy one: \`${ownCall()} deploy --to kubernetes\``);
  const rows = apps.map(({ org, app, state, revision, ready, wanted }) => {
    return [`${org}/${app}`, state, shorten(revision), `${ready} of ${wanted}`];
  });
  console.log(textTable([['APP', 'STATE', 'REVISION', 'PODS'], ...rows]));
}

export async function statusInCluster(place: Place, app: string): Promise<void> {
  const { cluster, org, json } = place;
  const [status, revisions] = await Promise.all([find(place, app), readRevisions(cluster, nameIn(place, app))]);
  if (json) return printJson({ org, app, ...status, revisions });
  const { state, reason, ready, wanted, pods } = status;
  const facts = [
    ['app', `${org}/${app}`],
    ['state', [state, reason].filter(Boolean).join(': ')],
    ['pods', `${ready} of ${wanted} ready`],
  ];
  console.log(textTable(facts));
  if (revisions.length > 0) console.log(`\n${revisionTable(revisions)}`);
  if (pods.length > 0) console.log(`\n${podTable(pods)}`);
}

function revisionTable(revisions: readonly PodRevision[]): string {
  const rows = [...revisions].reverse().map(({ number, revision, pods, created_at: at, message }) => {
    const deployed = at?.replace('T', ' ').replace('Z', '') ?? '-';
    return [String(number), shorten(revision), deployed, String(pods), message ?? '-'];
  });
  return textTable([['REVISION', 'DIGEST', 'DEPLOYED', 'PODS', 'SAID'], ...rows]);
}

/** Prints each reason on its own line below the pod, because names and reasons are long. */
function podTable(pods: readonly PodStatus[]): string {
  const rows = pods.map(({ name, state, revision, restarts }) => [name, state, shorten(revision), String(restarts)]);
  const [head = '', ...lines] = textTable([['POD', 'STATE', 'DIGEST', 'RESTARTS'], ...rows]).split('\n');
  return [head, ...lines.flatMap((line, at) => [line, ...(pods[at]?.reason ? [`  ${pods[at].reason}`] : [])])].join(
    '\n',
  );
}

export async function scaleInCluster(place: Place, app: string, parsed: Parsed): Promise<void> {
  const { min, max, reset } = givenOptions(SCALE_OPTIONS, parsed, {});
  if (min === undefined || max !== undefined || reset) {
    const why = 'In Kubernetes an app has a number of pods, which `min` says; an add-on of the cluster scales it.';
    throw invalidOptions(why);
  }
  await find(place, app);
  await scaleApp(place.cluster, nameIn(place, app), min);
  const text = `${place.org}/${app} has ${min} ${min === 1 ? 'pod' : 'pods'} from now on.`;
  print(place.json, { app, org: place.org, wanted: min }, text);
}

export async function restartInCluster(place: Place, app: string): Promise<void> {
  await find(place, app);
  await restartApp(place.cluster, nameIn(place, app));
  await follow(place, app);
}

export async function rollBackInCluster(place: Place, app: string, parsed: Parsed): Promise<void> {
  const { to = null } = givenOptions(ROLLBACK_OPTIONS, parsed, {});
  const { revision } = await find(place, app);
  const name = nameIn(place, app);
  if (await lacksKeys(place.cluster, name, to)) {
    const { dataDir } = givenOptions(COMMON_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
    const owner = { org: place.org, name: app };
    const keys = keysOf(owner, dataDir);
    if (keys.length === 0) throw noKeys(place.org, app);
    await addObjects(place.cluster, [keysSecret({ ...owner, revision: revision ?? '', keys })]);
  }
  await rollBackApp(place.cluster, name, to);
  await follow(place, app);
}

export async function deleteInCluster(place: Place, app: string, parsed: Parsed): Promise<void> {
  const { weights = false } = givenOptions(WEIGHTS_OPTION, parsed, {});
  const { removed, kept } = await deleteApp(place.cluster, nameIn(place, app), { weights });
  // The weights volume can outlive an app that was deleted earlier.
  if (removed.length === 0 && kept.length === 0) throw notFound(place, app);
  const lines = [...changeLines({ removed, kept }), `${place.org}/${app} is deleted.`];
  print(place.json, { app, org: place.org, removed, kept }, lines.join('\n'));
}

export async function logsInCluster(place: Place, app: string, parsed: Parsed): Promise<void> {
  await find(place, app);
  const show = ({ pod, container, text }: PodLine) => {
    print(place.json, { runner: pod, container, text }, `${pod}  ${printable(text)}`);
  };
  const cursor: LogCursor = new Map();
  // When the followed containers have ended, follow their replacements.
  await repeat(parsed, FOLLOW_MS, (follow) => readLogs(place.cluster, nameIn(place, app), { follow, cursor }, show));
}

export async function eventsInCluster(place: Place, app: string, parsed: Parsed): Promise<void> {
  await find(place, app);
  const shown = new Map<string, number>();
  await repeat(parsed, FOLLOW_MS, async () => {
    for (const event of await readEvents(place.cluster, nameIn(place, app))) {
      if (shown.get(event.id) === event.count) continue;
      shown.set(event.id, event.count);
      print(place.json, event, eventLine(event));
    }
  });
}

function eventLine({ at, object, type, reason, message, count }: ClusterEvent): string {
  const time = at?.slice(0, 19).replace('T', ' ') ?? '-';
  const often = count > 1 ? ` (${count} times)` : '';
  return `${time}  ${object}  ${type === 'Normal' ? '' : `${type.toLowerCase()}: `}${reason}${often}: ${printable(message)}`;
}

async function follow(place: Place, app: string): Promise<void> {
  const { cluster, org, json } = place;
  const name = nameIn(place, app);
  const deployment = await readDeployment(cluster, name);
  const status = await untilReady(cluster, name, (deployment?.spec?.progressDeadlineSeconds ?? 600) * 1000, json);
  const { state = null, ready = 0, wanted = 0 } = status ?? {};
  print(json, { app, org, state, ready, wanted }, `${org}/${app} is ${state}, ${ready} of ${wanted} pods.`);
}

async function find(place: Place, app: string): Promise<AppStatus> {
  const status = await readStatus(place.cluster, nameIn(place, app));
  if (status !== null) return status;
  throw notFound(place, app);
}

function notFound({ org }: Place, app: string): ChasquiError {
  return new ChasquiError('app_not_found', `The cluster has no app ${org}/${app} in this namespace.`);
}

function nameIn({ org }: Place, name: string): string {
  return nameOf({ org, name });
}

function shorten(digest: string | null): string {
  return digest?.slice(0, DIGEST_LENGTH) ?? '-';
}
