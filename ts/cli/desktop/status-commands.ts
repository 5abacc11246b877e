/** `chasqui status` and `chasqui logs`: state and log of the running desktop app. */
import path from 'node:path';
import { Command } from 'commander';
import type { AppState, LogLine } from '../../desktop/api-types.js';
import { dataDir } from '../../hub/data-folder.js';
import { CommandFailed, EXIT, withExitCode } from '../errors/exit-codes.js';
import { toJson } from '../output/json.js';
import { printable } from '../output/log-output.js';
import { type Columns, toTable } from '../output/table.js';
import { DesktopClient } from './desktop-client.js';

const GIB = 2 ** 30;
const FOLLOW_EVERY_MS = 500;
const MAX_LINES = 2000;

interface CommonOptions {
  dataDir?: string;
  json?: boolean;
}

interface LogsOptions extends CommonOptions {
  limit: string;
  follow?: boolean;
  level?: string;
}

export function desktopStatusCommands(): Command[] {
  return [
    command('status', 'Show the status of the desktop app.').action((options: CommonOptions) =>
      withExitCode(() => status(options)),
    ),
    command('logs', "Show the desktop app's log.")
      .option('-n, --limit <n>', `lines, at most ${MAX_LINES}`, '100')
      .option('-f, --follow', 'Keep printing new lines until Ctrl-C')
      .option('--level <level>', 'Minimum level: debug, info, warn or error')
      .action((options: LogsOptions) => withExitCode(() => logs(options))),
  ];
}

function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--data-dir <path>', 'Data folder of the app (default: CHASQUI_HOME, or ~/.chasqui)')
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help');
}

async function client({ dataDir: given }: CommonOptions): Promise<DesktopClient> {
  const folder = path.resolve(dataDir(given ?? (process.env.CHASQUI_HOME || undefined)));
  const found = await DesktopClient.findNow(folder);
  if (found === null) {
    throw new CommandFailed(EXIT.unreachable, `the desktop app of ${folder} is not running; start it: chasqui desktop`);
  }
  return found;
}

async function status(options: CommonOptions): Promise<void> {
  const app = await client(options);
  const state = await app.get<AppState>('/api/v1/state');
  if (options.json) {
    console.log(toJson({ url: app.url, ...state }, 2));
    return;
  }
  const { server, models, downloads } = state;
  console.log(`App      ${app.url}, version ${state.version}`);
  console.log(
    `Server   ${server.state}${server.address === null ? '' : ` at ${server.address}/v1`}${withModel(server.model)}`,
  );
  if (server.error !== null) console.log(`         ${server.error}`);
  if (models.length > 0) console.log(`\n${toTable(MODEL_COLUMNS, models)}`);
  const coming = downloads.filter(({ state: each }) => !['completed', 'cancelled'].includes(each));
  if (coming.length > 0) console.log(`\n${toTable(DOWNLOAD_COLUMNS, coming)}`);
}

function withModel(model: string | null): string {
  return model === null ? '' : `, any name means ${model}`;
}

type ShownModel = AppState['models'][number];
type ShownDownload = AppState['downloads'][number];

const MODEL_COLUMNS: Columns<ShownModel> = {
  MODEL: ({ id }) => id,
  STATE: ({ state, progress }) => (progress === null ? state : `${state} ${Math.floor(progress * 100)} %`),
  CONTEXT: ({ contextLength }) => contextLength ?? undefined,
  MEMORY: ({ memoryBytes }) => inGiB(memoryBytes),
  RUNNING: ({ running }) => running,
  QUEUED: ({ queued }) => queued,
};

const DOWNLOAD_COLUMNS: Columns<ShownDownload> = {
  DOWNLOAD: ({ model }) => model,
  STATE: ({ state }) => state,
  DONE: ({ downloadedBytes, totalBytes }) =>
    `${totalBytes === 0 ? 0 : Math.floor((downloadedBytes * 100) / totalBytes)} %`,
  SIZE: ({ totalBytes }) => inGiB(totalBytes),
};

function inGiB(bytes: number | null): string | undefined {
  return bytes === null ? undefined : `${(bytes / GIB).toFixed(2)} GiB`;
}

async function logs(options: LogsOptions): Promise<void> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LINES) {
    throw new CommandFailed(EXIT.usage, `--limit must be a whole number from 1 to ${MAX_LINES}`);
  }
  const app = await client(options);
  const isWanted = levelFilter(options.level);
  const read = async (count: number) =>
    (await app.get<{ lines: LogLine[] }>(`/api/v1/logs?limit=${count}`)).lines.filter(isWanted);
  let shown = await read(limit);
  for (const line of shown) print(line, options);
  while (options.follow) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_EVERY_MS));
    const present = await read(MAX_LINES);
    const known = new Set(shown.map((line) => JSON.stringify(line)));
    const since = shown[0]?.at ?? 0;
    for (const line of present) if (line.at >= since && !known.has(JSON.stringify(line))) print(line, options);
    shown = present;
  }
}

const LEVELS: readonly LogLine['level'][] = ['debug', 'info', 'warn', 'error'];

function levelFilter(level: string | undefined): (line: LogLine) => boolean {
  if (level === undefined) return () => true;
  const from = LEVELS.indexOf(level as LogLine['level']);
  if (from < 0) throw new CommandFailed(EXIT.usage, `--level must be ${LEVELS.join(', ')}`);
  return (line) => LEVELS.indexOf(line.level) >= from;
}

function print(line: LogLine, { json }: LogsOptions): void {
  if (json) {
    console.log(toJson(line));
    return;
  }
  const time = new Date(line.at).toISOString().slice(0, 19).replace('T', ' ');
  console.log(`${time} ${line.level.padEnd(5)} ${printable(line.message)}`);
}
