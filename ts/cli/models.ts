/** `chasqui ps|ls|load|unload`: the models of a running server; `ls` without a server lists those on this computer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { ListedModel, ModelList } from '../api/openai/models/schema.js';
import { dataFolder } from '../hub/data-folder.js';
import { formatBytes } from '../hub/format-bytes.js';
import { DesktopClient, messageIn } from './desktop/desktop-client.js';
import { CommandFailed, EXIT, withExitCode } from './errors/exit-codes.js';
import { libraryCommand, withHub } from './hub/hub-command.js';
import { type LocalListOptions, listLocalModels } from './hub/local-models.js';
import { type Columns, toTable } from './output/table.js';
import { askServer, DEFAULT_URL, serverAddress } from './server-address.js';

const POLL_MS = 200;
/** Before suggesting `--force` for a model that is still in use. */
const POLLS_BEFORE_ADVICE = 15;

const KEY_HELP = `
Set CHASQUI_API_KEY to the key of a server that requires one.`;

const PS_HELP = `
PIDS are the processes of a model: of its engine, and of what prepares requests
for it. MEMORY is what both take together.`;

interface ServerOptions {
  url?: string;
  json?: boolean;
}

interface LoadCommandOptions extends ServerOptions {
  pin?: boolean;
}

export interface UnloadOptions extends ServerOptions {
  force?: boolean;
}

interface ListOptions extends LocalListOptions {
  url?: string;
  dataDir?: string;
}

export function modelCommands(): Command[] {
  return [
    command('ps', 'List the models of a server that are loaded or loading.')
      .addHelpText('after', PS_HELP)
      .action((options: ServerOptions) => run(() => listRunning(options))),
    libraryCommand('ls', 'List the models on this computer, or those of a server.')
      .option('--url <address>', 'List the models of the server at this address')
      .option('--updates', 'Check the hub for newer versions')
      .addHelpText('after', KEY_HELP)
      .action(({ url, ...options }: ListOptions) => {
        if (url === undefined) return withHub(options, (hub) => listLocalModels(hub, options));
        return run(() => listServed({ ...options, url }));
      }),
    command('load', 'Load a model on a server, and wait until it is loaded.')
      .argument('<model>', 'its id')
      .option('--pin', 'Never evict the model')
      .action((id: string, options: LoadCommandOptions) => run(() => change(id, 'load', options))),
    command('unload', 'Unload a model from a server after its running requests, and wait until it is unloaded.')
      .argument('<model>', 'its id')
      .option('--force', 'Unload immediately; running requests fail')
      .action((id: string, options: UnloadOptions) => run(() => change(id, 'unload', options))),
  ];
}

function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--url <address>', `Address of the server (default: the running desktop app, or ${DEFAULT_URL})`)
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', KEY_HELP);
}

/** Prints what `action` returns. */
function run(action: () => Promise<string>): Promise<void> {
  return withExitCode(async () => console.log(await action()));
}

async function list(options: ServerOptions): Promise<readonly ListedModel[]> {
  return (await ask<ModelList>(options, '/v1/models')).data;
}

async function listRunning(options: ServerOptions): Promise<string> {
  const models = (await list(options)).filter(({ status }) => ['loaded', 'loading'].includes(status.value));
  return options.json ? toJson(models) : toTable(PS_COLUMNS, models);
}

async function listServed(options: ServerOptions): Promise<string> {
  const models = await list(options);
  return options.json ? toJson(models) : toTable(LS_COLUMNS, models);
}

export function unloadModel(id: string, options: UnloadOptions): Promise<string> {
  return change(id, 'unload', options);
}

async function change(
  id: string,
  act: 'load' | 'unload',
  options: LoadCommandOptions & UnloadOptions,
): Promise<string> {
  const { pin, force } = options;
  await ask(options, `/models/${act}`, { model: id, ...(pin && { pin }), ...(force && { force }) });
  const wanted = act === 'load' ? 'loaded' : 'unloaded';
  for (let polls = 0; ; polls += 1) {
    const model = await ask<ListedModel>(options, `/v1/models/${encodeURIComponent(id)}`);
    const { value, reason, running = 0, queued = 0 } = model.status;
    if (act === 'unload' && running > 0 && polls === POLLS_BEFORE_ADVICE) {
      const requests = running === 1 ? '1 request uses' : `${running} requests use`;
      console.error(`chasqui: ${requests} ${id}, which is unloaded afterwards; --force does not wait.`);
    }
    if (value === wanted) return options.json ? toJson(model) : `${id} is ${wanted}.`;
    // The load failed, or timed out waiting for memory.
    if (value !== 'loaded' && value !== 'loading' && queued === 0)
      throw new CommandFailed(EXIT.failed, `${id} could not be ${wanted}. ${reason ?? ''}`);
    await sleep(POLL_MS);
  }
}

async function ask<Reply>(options: ServerOptions, where: string, body?: object): Promise<Reply> {
  const { url, keys } = await serverOf(options);
  const reply = await askServer(url, where, {
    headers: { 'content-type': 'application/json', ...keys },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (reply.ok) return JSON.parse(text) as Reply;
  const reason = messageIn(text) ?? `status ${reply.status}`;
  throw new CommandFailed(CODES[reply.status] ?? EXIT.failed, `the server at ${url} refused that: ${reason}`);
}

/**
 * Uses the endpoints of the desktop app if it is running. For any other server, the authentication scheme is unknown:
 * sends the key both as `Authorization: Key` (deployments) and as `X-Api-Key` (local servers).
 */
async function serverOf({ url }: ServerOptions): Promise<{ url: string; keys: Record<string, string> }> {
  const key = process.env.CHASQUI_API_KEY;
  const app = url === undefined ? await DesktopClient.findNow(dataFolder(process.env)) : null;
  if (app !== null) return { url: `${app.url}/app`, keys: { authorization: `Bearer ${app.token}` } };
  return {
    url: serverAddress(url ?? DEFAULT_URL),
    keys: key ? { authorization: `Key ${key}`, 'x-api-key': key } : {},
  };
}

const CODES: Readonly<Record<number, number>> = {
  401: EXIT.unreachable,
  403: EXIT.unreachable,
  404: EXIT.notFound,
};

function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

const LS_COLUMNS: Columns<ListedModel> = {
  MODEL: ({ id }) => id,
  STATE: stateOf,
  SIZE: ({ size }) => sizeOf(size),
};

const PS_COLUMNS: Columns<ListedModel> = {
  MODEL: ({ id }) => id,
  STATE: stateOf,
  PIDS: ({ status }) => [status.pid, status.preparation_pid].filter(Boolean).join(' ') || undefined,
  MEMORY: ({ status }) => sizeOf(status.memory),
  RUNNING: ({ status }) => status.running ?? 0,
  QUEUED: ({ status }) => status.queued ?? 0,
  EXPIRES: ({ status }) => expiryOf(status),
};

function stateOf({ status: { value, progress } }: ListedModel): string {
  if (progress === undefined) return value;
  return `${value} ${Math.floor((typeof progress === 'number' ? progress : shareOf(progress)) * 100)} %`;
}

function shareOf(files: Record<string, { done: number; total: number }>): number {
  const sum = (of: 'done' | 'total') => Object.values(files).reduce((bytes, file) => bytes + file[of], 0);
  return sum('done') / (sum('total') || 1);
}

function sizeOf(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : formatBytes(bytes);
}

function expiryOf({ value, pinned, expires_at: at }: ListedModel['status']): string | undefined {
  if (value !== 'loaded') return undefined;
  if (pinned) return 'pinned';
  return at === undefined ? 'never' : `in ${Math.max(0, Math.round(at - Date.now() / 1000))} s`;
}
