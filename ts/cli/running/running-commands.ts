/** `chasqui status|logs|stop`: the running servers, desktop app and cloud of a data folder. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { readAddress } from '../../cloud/places.js';
import type { AppState, LogLine } from '../../desktop/api-types.js';
import { findInstance } from '../../desktop/single-instance.js';
import { dataFolder } from '../../hub/data-folder.js';
import { ownCall } from '../../own-call.js';
import { CommandFailed, EXIT, withExitCode } from '../errors/exit-codes.js';
import { type UnloadOptions, unloadModel } from '../models.js';
import { toJson } from '../output/json.js';
import { type Columns, toTable } from '../output/table.js';
import { LEVELS, MAX_LINES, printApp, printAppLog, type ShownLines } from './app-status.js';
import { publicEntry } from './background.js';
import { chooseRunning, describe, findRunning, nothingRuns, onlyRunning, type Running } from './find-running.js';
import { logFiles } from './log-files.js';
import { printServerLog } from './server-log.js';
import {
  entryOfProcess,
  isInThisNamespace,
  runningServers,
  type ServerEntry,
  serversFolder,
} from './server-registry.js';

const POLL_MS = 100;

interface CommonOptions {
  dataDir?: string;
  json?: boolean;
}

interface LogsOptions extends CommonOptions {
  limit: string;
  follow?: boolean;
  level: LogLine['level'];
}

export function runningCommands(): Command[] {
  return [
    command('status', 'Show the running servers, the desktop app and the cloud.').action((options: CommonOptions) =>
      withExitCode(() => status(options)),
    ),
    command('logs', 'Show the log of a server in the background, or of the desktop app.')
      .argument('[name]', 'app, or the process id of a server')
      .option('-n, --limit <n>', `lines, at most ${MAX_LINES}`, '100')
      .option('-f, --follow', 'Keep printing new lines until Ctrl-C')
      .addOption(new Option('--level <level>', 'Minimum level').choices(LEVELS).default('debug', 'all'))
      .action((name: string | undefined, options: LogsOptions) => withExitCode(() => logs(name, options))),
    command('stop', 'Stop a server, the desktop app or the cloud after its running requests, or unload a model.')
      .argument('[name]', 'the process id of a server, app, cloud, or the id of a model')
      .option('--url <address>', 'Address of the server that unloads the model')
      .option('--force', 'Unload the model immediately; running requests fail')
      .action((name: string | undefined, options: CommonOptions & UnloadOptions) =>
        withExitCode(() => stop(name, options)),
      ),
  ];
}

function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--data-dir <path>', 'Data folder (default: CHASQUI_HOME, or ~/.chasqui)')
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help');
}

function folderOf({ dataDir }: CommonOptions): string {
  return dataFolder(dataDir === undefined ? process.env : { CHASQUI_HOME: dataDir });
}

const SERVER_COLUMNS: Columns<ServerEntry> = {
  SERVER: ({ url, socket }) => socket ?? url,
  STATE: ({ state }) => state,
  PID: ({ pid }) => pid,
  MODELS: ({ models }) => (models.length > 1 ? `${models[0]} and ${models.length - 1} more` : models[0]),
  STARTED: ({ startedAt }) => new Date(startedAt).toISOString().slice(0, 16).replace('T', ' '),
};

async function status(options: CommonOptions): Promise<void> {
  const folder = folderOf(options);
  const running = await findRunning(folder);
  if (running.length === 0) throw nothingRuns(folder);
  const app = running.find((each) => each.kind === 'app');
  const cloud = running.find((each) => each.kind === 'cloud')?.address;
  const servers = running.flatMap((each) => (each.kind === 'server' ? [each.entry] : []));
  const state = await app?.client.get<AppState>('/api/v1/state');
  if (options.json) {
    console.log(
      toJson(
        {
          servers: servers.map(publicEntry),
          app: app && state ? { url: app.client.url, ...state } : null,
          cloud: cloud === undefined ? null : { url: cloud.url, org: cloud.org, pid: cloud.pid },
        },
        2,
      ),
    );
    return;
  }
  if (servers.length > 0) console.log(toTable(SERVER_COLUMNS, servers));
  if (servers.length > 0 && running.length > servers.length) console.log();
  if (app && state) printApp(app.client.url, state);
  if (cloud) console.log(`Cloud    ${cloud.url}, organisation ${cloud.org}; see ${ownCall()} apps list`);
}

async function logs(name: string | undefined, options: LogsOptions): Promise<void> {
  const count = Number(options.limit);
  if (!Number.isInteger(count) || count < 1 || count > MAX_LINES) {
    throw new CommandFailed(EXIT.usage, `--limit must be a whole number from 1 to ${MAX_LINES}`);
  }
  const { level, follow = false, json = false } = options;
  const shown: ShownLines = { count, level, follow, json };
  const folder = folderOf(options);
  const running = await findRunning(folder);
  const found = name === undefined ? null : chooseRunning(running, name);
  if (found === undefined) throw new CommandFailed(EXIT.notFound, `${name} is not running; see ${ownCall()} status`);
  const withLogs = running.filter((each) => each.kind === 'app' || (each.kind === 'server' && each.entry.log !== null));
  const candidates = withLogs.length > 0 ? withLogs : running;
  if (candidates.length === 0) return lastLog(folder, shown);
  await printLog(found ?? onlyRunning(candidates, 'logs', folder), shown);
}

async function printLog(of: Running, shown: ShownLines): Promise<void> {
  if (of.kind === 'app') return printAppLog(of.client, shown);
  if (of.kind === 'server' && of.entry.log !== null) return printServerLog(of.entry.log, shown);
  const advice = of.kind === 'cloud' ? `; ${ownCall()} apps logs shows those of its apps` : '';
  throw new CommandFailed(EXIT.notFound, `the ${describe(of)} writes its log to its standard error${advice}`);
}

/** The last server in the background may have ended because of an error. */
async function lastLog(folder: string, shown: ShownLines): Promise<void> {
  const last = logFiles(serversFolder(folder)).at(-1);
  if (last === undefined) throw nothingRuns(folder);
  console.error(`chasqui: no server is running in the background; this is the last log, ${last}`);
  await printServerLog(last, { ...shown, follow: false });
}

async function stop(name: string | undefined, options: CommonOptions & UnloadOptions): Promise<void> {
  const folder = folderOf(options);
  const isModel = options.url !== undefined || options.force === true;
  const running = isModel ? [] : await findRunning(folder);
  if (name === undefined && isModel) throw new CommandFailed(EXIT.usage, 'the model to unload is missing');
  const found = name === undefined ? onlyRunning(running, 'stop', folder) : chooseRunning(running, name);
  if (found !== undefined) return stopProcess(found, folder, options);
  if (name !== undefined) console.log(await unloadModel(name, options));
}

async function stopProcess(running: Running, folder: string, { json }: CommonOptions): Promise<void> {
  const pid = pidOf(running);
  if (running.kind === 'server' && !isInThisNamespace(running.entry)) {
    throw new CommandFailed(EXIT.failed, `the ${describe(running)} runs in another container; stop it there`);
  }
  process.kill(pid, 'SIGTERM');
  while (isThere(running, folder)) await sleep(POLL_MS);
  console.log(json ? toJson({ kind: running.kind, pid, state: 'stopped' }, 2) : `Stopped the ${describe(running)}.`);
}

function pidOf(running: Running): number {
  if (running.kind === 'server') return running.entry.pid;
  return running.kind === 'app' ? running.instance.pid : running.address.pid;
}

function isThere(running: Running, folder: string): boolean {
  const pid = pidOf(running);
  if (running.kind === 'app') return findInstance(folder)?.pid === pid;
  if (running.kind === 'cloud') return readAddress(folder)?.pid === pid;
  const servers = serversFolder(folder);
  // The lock is tried last, because it is slower to read.
  return entryOfProcess(servers, pid) !== undefined && runningServers(servers).some((each) => each.pid === pid);
}
