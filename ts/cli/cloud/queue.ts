/** `chasqui queue`: the stored requests of an app. */
import { Command } from 'commander';
import type { DetailedJson, QueuedJson } from '../../cloud/queue/management-routes.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { inTime } from '../output/quantities.js';
import { textTable } from '../output/table.js';
import { common, type Target, withTarget } from './apps.js';
import { appRoute } from './client.js';
import { print, printJson, toDate, withHelp } from './outcome.js';

type Parsed = Readonly<Record<string, unknown>>;

export function queueCommand(): Command {
  const ofRequest = (name: string, says: string, act: (target: Target, app: string, id: string) => Promise<void>) =>
    common(name, says)
      .argument('<app>', 'Name of the app')
      .argument('<id>', 'Request id, as listed')
      .action((app: string, id: string, parsed: Parsed) => withTarget(parsed, (target) => act(target, app, id)));
  return withHelp(new Command('queue'))
    .description('List the queued requests of an app, show one, and cancel one.')
    .addCommand(
      common('list', 'List running, waiting and completed requests, at most 1,000.')
        .argument('<app>', 'Name of the app')
        .action((app: string, parsed: Parsed) => withTarget(parsed, (target) => list(target, app))),
    )
    .addCommand(ofRequest('show', 'Show the state of a request and of its webhook.', show))
    .addCommand(ofRequest('cancel', 'Cancel a request that is not completed.', cancel));
}

async function list({ cloud, org, json }: Target, app: string): Promise<void> {
  const { requests } = await cloud.get<{ requests: QueuedJson[] }>(`${appRoute(org, app)}/queue?limit=1000`);
  if (json) return printJson(requests);
  if (requests.length === 0) return console.log(`The queue of ${org}/${app} is empty.`);
  const rows = requests.map((each) => {
    const { id, state, attempts, created_at: at, status, webhook } = each;
    return [id, state, ageOf(at), String(attempts), String(status ?? '-'), webhook?.state ?? '-'];
  });
  console.log(textTable([['REQUEST', 'STATE', 'AGE', 'ATTEMPTS', 'STATUS', 'WEBHOOK'], ...rows]));
}

async function show({ cloud, org, json }: Target, app: string, id: string): Promise<void> {
  const request = await cloud.get<DetailedJson>(requestRoute(org, app, id));
  if (json) return printJson(request);
  const { state, key_id: key, attempts, created_at: at, started_at, finished_at, status, webhook } = request;
  const { queue_position: position, error_type: error } = request;
  const result = [status, error].filter((each) => each !== null).join(' ');
  console.log(
    textTable([
      ['request', request.id],
      ['app', `${org}/${app}`],
      ['key', key],
      ['state', position === null ? state : `${state}, ${position} before it`],
      ['submitted', `${toDate(at)} (${ageOf(at)} ago)`],
      ['started', started_at === null ? '-' : toDate(started_at)],
      ['completed', finished_at === null ? '-' : toDate(finished_at)],
      ['attempts', String(attempts)],
      ['result', result === '' ? '-' : result],
      ['webhook', webhook === null ? '-' : webhookText(webhook)],
    ]),
  );
}

async function cancel({ cloud, org, json }: Target, app: string, id: string): Promise<void> {
  const reply = await cloud.delete<QueuedJson & { cancelled: boolean }>(requestRoute(org, app, id));
  if (!reply.cancelled) throw new CommandFailed(EXIT.failed, `the request ${reply.id} is completed`);
  print(json, reply, `The request ${reply.id} is cancelled.`);
}

function requestRoute(org: string, app: string, id: string): string {
  return `${appRoute(org, app)}/queue/${encodeURIComponent(id)}`;
}

function ageOf(createdAt: number): string {
  return inTime(Math.max(0, Math.floor((Date.now() - createdAt) / 1000)));
}

function webhookText({ state, attempts, error }: NonNullable<QueuedJson['webhook']>): string {
  return `${state}, attempts: ${attempts}${error === null ? '' : `, ${error}`}`;
}
