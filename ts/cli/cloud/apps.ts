/** `chasqui apps`: shows and changes deployed apps. */
import { Command } from 'commander';
import type { EventRow } from '../../cloud/apps/app-store.js';
import type { Deployed, LogCursor } from '../../cloud/apps/control.js';
import type { AppState, RunnerView } from '../../cloud/apps/views.js';
import { invalidOptions } from '../../errors.js';
import type { OptionRows } from '../../options/option-row.js';
import { ownCall } from '../../own-call.js';
import { addTableOptions, givenOptions } from '../options/table-options.js';
import { printable } from '../output/log-output.js';
import { textTable } from '../output/table.js';
import { appRoute, CloudClient } from './client.js';
import { CLUSTER_OPTIONS, TARGET_OPTIONS, WEIGHTS_OPTION } from './kubernetes-option-table.js';
import { type Place, placeOf } from './kubernetes-place.js';
import { COMMON_OPTIONS, FOLLOW_OPTION, ROLLBACK_OPTIONS, SCALE_OPTIONS } from './option-table.js';
import { ended, print, printJson, repeat, toDate, withHelp } from './outcome.js';
import { untilActive } from './until-active.js';

type Parsed = Readonly<Record<string, unknown>>;

/** The common arguments of all actions. */
export interface Target {
  cloud: CloudClient;
  org: string;
  json: boolean;
}

const FOLLOW_MS = 500;

type ClusterModule = typeof import('./kubernetes-apps.js');
type ClusterAction = Exclude<keyof ClusterModule, 'listInCluster'>;

const clusterModule = (): Promise<ClusterModule> => import('./kubernetes-apps.js');

/** The actions of a command for an app in a cloud, and for an app in a cluster. */
interface Actions {
  inCloud(target: Target, app: string, parsed: Parsed): Promise<void>;
  inCluster: ClusterAction;
  /** Options in addition to the common ones. */
  options: OptionRows;
}

export function appsCommand(): Command {
  const command = withHelp(new Command('apps')).description('Show and change deployed apps.');
  const lists = addTableOptions(common('list', 'List the apps.'), TARGET_OPTIONS);
  command.addCommand(
    lists.action((parsed: Parsed) =>
      inPlace(
        parsed,
        (target) => list(target, parsed),
        async (place) => (await clusterModule()).listInCluster(place),
      ),
    ),
  );
  const named = (name: string, says: string, actions: Actions) => {
    const sub = addTableOptions(common(name, says).argument('<app>', 'Name of the app'), actions.options);
    command.addCommand(
      sub.action((app: string, parsed: Parsed) =>
        inPlace(
          parsed,
          (target) => actions.inCloud(target, app, parsed),
          (place) => actInCluster(actions.inCluster, place, app, parsed),
        ),
      ),
    );
  };
  named('status', 'Show an app, its revisions and its runners.', {
    inCloud: status,
    inCluster: 'statusInCluster',
    options: TARGET_OPTIONS,
  });
  named('scale', 'Set the number of runners, overriding the script.', {
    inCloud: scale,
    inCluster: 'scaleInCluster',
    options: { ...SCALE_OPTIONS, ...TARGET_OPTIONS },
  });
  // `--to` is a revision here, so only --context or --namespace selects a cluster.
  named('rollback', 'Return to an earlier revision.', {
    inCloud: rollBack,
    inCluster: 'rollBackInCluster',
    options: { ...ROLLBACK_OPTIONS, ...CLUSTER_OPTIONS },
  });
  named('restart', 'Replace all runners without downtime.', {
    inCloud: restart,
    inCluster: 'restartInCluster',
    options: TARGET_OPTIONS,
  });
  named('delete', 'Delete an app after its running requests.', {
    inCloud: remove,
    inCluster: 'deleteInCluster',
    options: { ...TARGET_OPTIONS, ...WEIGHTS_OPTION },
  });
  named('events', 'Show state changes and their reasons.', {
    inCloud: events,
    inCluster: 'eventsInCluster',
    options: { ...FOLLOW_OPTION, ...TARGET_OPTIONS },
  });
  named('logs', 'Show the output of the runners of an app.', {
    inCloud: logs,
    inCluster: 'logsInCluster',
    options: { ...FOLLOW_OPTION, ...TARGET_OPTIONS },
  });
  return command;
}

async function actInCluster(name: ClusterAction, place: Place, app: string, parsed: Parsed): Promise<void> {
  type Act = (place: Place, app: string, parsed: Parsed) => Promise<void>;
  const actions: Record<ClusterAction, Act> = await clusterModule();
  await actions[name](place, app, parsed);
}

function inPlace(
  parsed: Parsed,
  inCloud: (target: Target) => Promise<void>,
  inCluster: (place: Place) => Promise<void>,
): Promise<void> {
  const place = placeOf(parsed);
  return place === null ? withTarget(parsed, inCloud) : ended(() => inCluster(place));
}

export function common(name: string, description: string): Command {
  return addTableOptions(withHelp(new Command(name)), COMMON_OPTIONS).description(description);
}

export function withTarget(parsed: Parsed, action: (target: Target) => Promise<void>): Promise<void> {
  return ended(async () => {
    const given = givenOptions(COMMON_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
    const cloud = await CloudClient.find(given.dataDir);
    await action({ cloud, org: given.org ?? cloud.org, json: given.json ?? false });
  });
}

async function list({ cloud, json }: Target, parsed: Parsed): Promise<void> {
  const { apps: all } = await cloud.get<{ apps: AppState[] }>('/apps');
  const apps = all.filter(({ org }) => parsed.org === undefined || org === parsed.org);
  if (json) return printJson(apps);
  if (apps.length === 0) return console.log(`No apps. Deploy one: \`${ownCall()} deploy\``);
  const rows = apps.map(({ org, app, state, revision, ready, url }) => {
    return [`${org}/${app}`, state, String(revision ?? '-'), String(ready), url];
  });
  console.log(textTable([['APP', 'STATE', 'REVISION', 'RUNNERS', 'ADDRESS'], ...rows]));
}

async function status({ cloud, org, json }: Target, name: string): Promise<void> {
  const app = await cloud.app(org, name);
  if (json) return printJson(app);
  const { state, reason, progress, url, auth, revision, scale, demand, models, revisions, runners } = app;
  const facts = [
    ['app', `${org}/${name}`],
    ['state', [state, progress ?? reason].filter(Boolean).join(': ')],
    ['address', `${url}/v1`],
    ...(models.length === 0 ? ['-'] : models).map((model, at) => [at === 0 ? 'model' : '', model]),
    ['auth', auth],
    ['revision', String(revision ?? '-')],
    [
      'runners',
      `${runners.length} (from ${scale.min} to ${scale.max}${scale.is_overridden ? ', not as scripted' : ''})`,
    ],
    ['requests', `${demand.running} running, ${demand.queued} waiting`],
  ];
  console.log(textTable(facts));
  if (revisions.length > 0) console.log(`\n${revisionTable(app)}`);
  if (runners.length > 0) console.log(`\n${runnerTable(runners)}`);
}

function revisionTable({ revisions }: AppState): string {
  const rows = [...revisions].reverse().map(({ number, state, created_at: at, author, message, reason }) => {
    const said = state === 'failed' ? reason : message;
    return [String(number), state, toDate(at), author, said ?? '-'];
  });
  return textTable([['REVISION', 'STATE', 'DEPLOYED', 'BY', 'SAID'], ...rows]);
}

export function runnerTable(runners: readonly RunnerView[]): string {
  const rows = runners.map(({ id, org, app, revision, state, pid, running, slots, progress }) => {
    const shown = progress ?? `${running ?? '?'} of ${slots}`;
    return [id, `${org}/${app}`, String(revision), state, String(pid ?? '-'), shown];
  });
  return textTable([['RUNNER', 'APP', 'REVISION', 'STATE', 'PID', 'REQUESTS'], ...rows]);
}

async function scale({ cloud, org, json }: Target, name: string, parsed: Parsed): Promise<void> {
  const { min, max, reset } = givenOptions(SCALE_OPTIONS, parsed, {});
  if (!reset && min === undefined && max === undefined) {
    throw invalidOptions('Say `min`, `max` or `reset`.');
  }
  const now = await cloud.app(org, name);
  const wanted = {
    min: min ?? Math.min(now.scale.min, max ?? now.scale.max),
    max: max ?? Math.max(now.scale.max, min ?? 0),
  };
  const route = `${appRoute(org, name)}/scale`;
  const after = reset ? await cloud.delete<AppState>(route) : await cloud.put<AppState>(route, wanted);
  print(json, after, `${org}/${name} has from ${after.scale.min} to ${after.scale.max} runners now.`);
}

async function rollBack(target: Target, name: string, parsed: Parsed): Promise<void> {
  const { to } = givenOptions(ROLLBACK_OPTIONS, parsed, {});
  const body = to === undefined ? {} : { revision: to };
  await follow(target, await target.cloud.post<Deployed>(`${appRoute(target.org, name)}/rollback`, body));
}

async function restart(target: Target, name: string): Promise<void> {
  await follow(target, await target.cloud.post<Deployed>(`${appRoute(target.org, name)}/restart`));
}

async function follow({ cloud, json }: Target, deployed: Deployed): Promise<void> {
  const state = await untilActive(cloud, deployed, json);
  const { app, org, revision, url } = deployed;
  print(json, { app, org, revision, url, state }, `Revision ${revision} of ${org}/${app} is ${state}.`);
}

async function remove({ cloud, org, json }: Target, name: string): Promise<void> {
  const gone = await cloud.delete(appRoute(org, name));
  print(json, gone, `${org}/${name} is deleted.`);
}

async function events({ cloud, org, json }: Target, name: string, parsed: Parsed): Promise<void> {
  let after = 0;
  await repeat(parsed, FOLLOW_MS, async () => {
    const route = `${appRoute(org, name)}/events?after=${after}&limit=1000`;
    const { events: rows } = await cloud.get<{ events: EventRow[] }>(route);
    // An app without events has never existed: this fails with the reason.
    if (rows.length === 0 && after === 0) await cloud.app(org, name);
    for (const row of rows) print(json, { ...row, state: row.state.toLowerCase() }, eventLine(row));
    after = rows.at(-1)?.seq ?? after;
  });
}

function eventLine({ at, revision, runner, state, reason }: EventRow): string {
  const subject = runner === null ? (revision === null ? 'app' : `revision ${revision}`) : `runner ${runner}`;
  return `${toDate(at)}  ${subject.padEnd(20)}  ${state.toLowerCase().padEnd(8)}  ${printable(reason)}`;
}

async function logs({ cloud, org, json }: Target, name: string, parsed: Parsed): Promise<void> {
  type Reply = { lines: { runner: string; text: string }[]; cursor: LogCursor };
  let query = '';
  await repeat(parsed, FOLLOW_MS, async () => {
    const { lines, cursor } = await cloud.get<Reply>(`${appRoute(org, name)}/logs${query}`);
    for (const line of lines) print(json, line, `${line.runner}  ${printable(line.text)}`);
    query = `?cursor=${encodeURIComponent(JSON.stringify(cursor))}`;
  });
}
