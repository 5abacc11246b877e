/** The desktop app: one process with two ports, the app's own and the server's. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Agent, request } from 'undici';
import { buildApp } from '../api/app.js';
import type { AppOptions } from '../api/context.js';
import { SqliteStore } from '../api/openai/responses/store/sqlite-store.js';
import type { ModelLibrary } from '../api/shared/model-library.js';
import type { HubSettings } from '../hub/hub-settings.js';
import type { LibraryOptions } from '../hub/library.js';
import { removeStaleFolders } from '../hub/sparse-copy.js';
import { SharedKeys } from '../keys/shared-keys.js';
import type { Environment } from '../mcp/stdio-transport.js';
import { Metrics } from '../metrics/metrics.js';
import { desktop } from '../profiles/desktop.js';
import { ClientLibrary } from '../server/client-library.js';
import { isFree, listenAt } from '../server/listen.js';
import type { EngineSettings } from '../server/open-pool.js';
import { SpeedBook } from './advice.js';
import type { DownloadJob, NewVersion, RequestRow } from './api-types.js';
import { buildAppPort, COMPLETIONS_PATH, isRoutine } from './app-port.js';
import { applySettings } from './apply-settings.js';
import { Awake } from './awake.js';
import { ChatCompletions } from './chat-completions.js';
import { DesktopLog } from './desktop-log.js';
import { DeveloperServer } from './developer-server.js';
import { EventBus } from './event-bus.js';
import { ExactFits } from './exact-fits.js';
import { Hub } from './hub.js';
import { Instances } from './instances.js';
import { describeFile, embeddersOf, type LocalModel } from './local-model.js';
import { LocalModels } from './local-models.js';
import type { LoginStart } from './login-start.js';
import { MachineWatch } from './machine.js';
import { DesktopMcp } from './mcp/desktop-mcp.js';
import { keptBandwidth } from './memory-bandwidth.js';
import { MetricsClock } from './metrics-clock.js';
import { OpeningCodes, removeOpeningPage } from './opening-codes.js';
import { PAGES } from './pages.js';
import { PassageChooser } from './passages/choose-passages.js';
import { VectorStore } from './passages/rank-by-meaning.js';
import { APP_PORT, freePort } from './ports.js';
import { RequestTable } from './request-table.js';
import type { DesktopApp } from './routes/context.js';
import { localAddresses } from './sharing/local-addresses.js';
import { buildSharedApp } from './sharing/shared-app.js';
import { Sharing } from './sharing/sharing.js';
import { ChatStore } from './store/chats.js';
import { Store } from './store/database.js';
import { MetricsHistory } from './store/metrics-history.js';
import { RequestHistory } from './store/request-history.js';
import { SettingsStore } from './store/settings.js';
import { lookForUpdate } from './update-notice.js';
import { watchModels } from './watch-models.js';

export interface DesktopSettings {
  dataDir: string;
  /** The app's own port; `null`: the default port, or the next free one. */
  appPort: number | null;
  /** Model files to add to the list. */
  models: readonly string[];
  demoModel: string;
  engine: EngineSettings;
  /** Hub settings from the environment, overridden by `given`. */
  hub(given: Partial<HubSettings>): HubSettings;
  /** Folders to search for models, in addition to those in the settings. */
  places(folders: readonly string[]): LibraryOptions;
  login: LoginStart;
  /** MCP servers get a few of its variables. */
  environment: Environment;
  /** Options of both ports. */
  app: Pick<AppOptions, 'optionNames' | 'stallTimeoutMs' | 'responses'>;
  /** Time limit for running replies when the server stops. */
  drainMs: number;
  /** Resolves with a newer version of this program, if there is one. */
  findUpdate(): Promise<NewVersion | null>;
  /** Called when a client requests to quit. */
  onQuit(): void;
}

export interface Desktop {
  app: DesktopApp;
  token: string;
  port: number;
  close(): Promise<void>;
}

const HOST = desktop.host;

/** Rejects with Node's error if the app's port is in use. */
export async function openDesktop(settings: DesktopSettings): Promise<Desktop> {
  const opened: Closers = [];
  try {
    const responses = SqliteStore.open(settings.dataDir);
    opened.push(() => responses.close());
    const kept: DesktopSettings = { ...settings, app: { ...settings.app, responses } };
    const parts = await openParts(kept, opened);
    const token = parts.settings.own('token', () => randomBytes(24).toString('base64url'));
    const { app, port } = await openAppPort(parts, token, kept, opened);
    return { app, token, port, close: () => closeAll(opened) };
  } catch (error) {
    await closeAll(opened).catch(() => undefined);
    throw error;
  }
}

/** In order of creation. */
type Closers = (() => unknown)[];

/** Closes in reverse order. Continues after errors, then throws the first. */
async function closeAll(opened: Closers): Promise<void> {
  const errors: unknown[] = [];
  for (let close = opened.pop(); close !== undefined; close = opened.pop()) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** All parts that need no port. */
type Parts = Omit<DesktopApp, 'completions'> & { vectors: VectorStore };

async function openParts(settings: DesktopSettings, opened: Closers): Promise<Parts> {
  const store = Store.open(settings.dataDir);
  opened.push(() => store.close());
  const chosen = new SettingsStore(store);
  const events = new EventBus();
  const log = new DesktopLog(settings.dataDir, events);
  const history = new RequestHistory(store);
  const speeds = new SpeedBook(chosen.kept('speeds') as number[] | undefined, () => keptBandwidth(chosen));
  const requests = new RequestTable(history, events, (row) => learnSpeed(row, app));
  const points = new MetricsHistory(store);
  opened.push(() => [requests, history, points].map((part) => part.close()));
  removeStaleFolders();
  const hub = await openHub(settings, chosen, events, log);
  opened.push(() => hub.close());
  const metrics = new Metrics();
  const library: ModelLibrary = {
    pull: (name, watch) => clients.pull(name, watch),
    remove: (name) => clients.remove(name),
  };
  const machine = new MachineWatch();
  const { instances, server, sharing } = makeServer(settings, {
    chosen,
    events,
    log,
    requests,
    metrics,
    machine,
    library,
  });
  await instances.pool.start([]);
  opened.push(() => instances.pool.close());
  const models = new LocalModels({
    places: () => settings.places(chosen.current.modelFolders),
    named: await namedModels(settings),
    instances,
    events,
  });
  const clients = new ClientLibrary({ downloads: hub.downloads, models });
  await models.refresh();
  refreshAfterDownloads(models, events);
  const clock = new MetricsClock(instances.pool, requests, points, events);
  const awake = new Awake(() => chosen.current.preventSleep && (requests.size > 0 || hub.isBusy));
  const stopWatching = watchModels(instances, events);
  const mcp = new DesktopMcp({
    folder: settings.dataDir,
    environment: settings.environment,
    allowed: () => chosen.current.allowedTools,
    onChange: () => events.publish('mcp', {}),
  });
  mcp.sync().catch((error: Error) => log.say('warn', `MCP servers: ${error.message}`));
  opened.push(() => mcp.close());
  opened.push(() => [clock.stop(), awake.close(), stopWatching()]);
  const app: Parts = {
    events,
    instances,
    server,
    sharing,
    settings: chosen,
    requests,
    metrics: points,
    log,
    chats: new ChatStore(store),
    vectors: new VectorStore(store),
    hub,
    models,
    machine,
    fits: new ExactFits(instances, hub),
    speeds,
    mcp,
    update: lookForUpdate(async () => (chosen.current.checkForUpdates ? settings.findUpdate() : null), events),
    codes: new OpeningCodes((code) => removeOpeningPage(settings.dataDir, code)),
    applySettings: (change) => applySettings(app, settings, change),
    quit: settings.onQuit,
  };
  machine
    .learnGpus(settings.demoModel)
    .catch((error: Error) => log.say('warn', `Could not detect GPUs: ${error.message}`));
  return app;
}

/** Learns the speed of this computer from completions. */
function learnSpeed({ model, tokensPerSecond, completionTokens }: RequestRow, app: Parts): void {
  const used = app.instances.models.find(({ id }) => id === model);
  if (completionTokens < MIN_TOKENS_TO_LEARN || tokensPerSecond === null || used === undefined) return;
  app.speeds.add(tokensPerSecond, used.sizeBytes * used.activeShare);
  app.settings.keep('speeds', app.speeds.runs);
}

/** Shorter completions are dominated by other work. */
const MIN_TOKENS_TO_LEARN = 32;

function refreshAfterDownloads(models: LocalModels, events: EventBus): void {
  events.subscribe((event) => {
    if (event.name === 'download' && event.data.state === 'completed') models.refresh().catch(() => undefined);
  });
}

async function namedModels({ models, demoModel }: DesktopSettings): Promise<LocalModel[]> {
  const named = await Promise.all(models.map((file) => describeFile(file)));
  return [...named, await describeFile(demoModel, 'builtin')];
}

interface ServerParts {
  chosen: SettingsStore;
  events: EventBus;
  log: DesktopLog;
  requests: RequestTable;
  metrics: Metrics;
  machine: MachineWatch;
  library: ModelLibrary;
}

function makeServer(settings: DesktopSettings, parts: ServerParts) {
  const { chosen, events, log, requests, metrics, machine, library } = parts;
  const instances = new Instances({
    engine: {
      ...settings.engine,
      onRestart: ({ process, end }) => {
        const what = process === 'engine' ? 'An engine' : 'A preparation process';
        log.say('error', `${what} ended: ${end.message}`);
      },
    },
    cacheFolder: path.join(settings.dataDir, 'cache'),
    metrics,
    machine,
    selected: () => server.selected,
    defaultsOf: (model) => chosen.defaultsOf(model),
    keepOf: (model) => chosen.keepOf(model),
    onFailure: (id, error) => log.say('error', `Could not load ${id}: ${(error as Error).message}`),
  });
  const options: AppOptions = {
    ...settings.app,
    metrics,
    library,
    drainMs: settings.drainMs,
    requests: requests.observer({ app: false }),
    log: log.forServer(() => chosen.current.logPrompts),
  };
  const sharing = new Sharing({
    store: chosen,
    build: (opens) => buildSharedApp(instances.pool, opens, options),
    addresses: localAddresses,
    onChange: (state) => events.publish('sharing', state),
  });
  const server: DeveloperServer = new DeveloperServer(
    {
      host: HOST,
      build: () => buildServer(instances, chosen.serverKey, options),
      load: (model, config) => instances.load(model, config),
      cancelLoad: (model) => {
        for (const { id, path } of instances.models) if (id === model || path === model) instances.cancel(id);
      },
      onStarted: (port, lastModel) => {
        try {
          chosen.change({ lastModel, ...(port !== null && { port }) });
        } catch (error) {
          // Not fatal, for example on a full disk.
          log.say('warn', `Could not save the model and port for the next start: ${(error as Error).message}`);
        }
      },
      onChange: (state) => {
        events.publish('server', state);
        sharing.follow(state);
        log.say(
          'info',
          state.address === null ? `Server: ${state.state}` : `Server: ${state.state} at ${state.address}`,
        );
      },
    },
    chosen.current.port,
  );
  return { instances, server, sharing };
}

/** A change of the key takes effect at the next start of the server. */
function buildServer({ pool }: Instances, key: string | null, options: AppOptions): FastifyInstance {
  if (key === null) return buildApp(pool, desktop, options);
  const keys = new SharedKeys([key]);
  return buildApp(
    pool,
    { ...desktop, authentication: 'bearer' },
    { ...options, access: (given) => keys.admits(given) },
  );
}

function openHub(
  { dataDir, hub }: DesktopSettings,
  chosen: SettingsStore,
  events: EventBus,
  log: DesktopLog,
): Promise<Hub> {
  /** Uses the stored token only for the hub it was stored for. */
  const chosenHub = (): HubSettings => {
    const { hubEndpoint, hubTokenEndpoint } = chosen.current;
    const asked = hub(hubEndpoint === null ? {} : { endpoint: hubEndpoint });
    const isItsToken = chosen.hubToken !== null && asked.endpoint === hubTokenEndpoint;
    return isItsToken ? hub({ endpoint: asked.endpoint, token: chosen.hubToken }) : asked;
  };
  /** Invalid settings of an earlier version must not prevent the start. */
  const settings = (): HubSettings => {
    try {
      return chosenHub();
    } catch (error) {
      log.say('warn', `Invalid hub settings, using the default hub: ${(error as Error).message}`);
      return hub({});
    }
  };
  const onDownload = (job: DownloadJob) => {
    events.publish('download', job);
    if (job.finishedAt === null) return;
    const why = job.error === null ? '' : `: ${job.error.message}`;
    log.say(job.state === 'failed' ? 'error' : 'info', `Download of ${job.model}: ${job.state}${why}`);
  };
  return Hub.open(dataDir, settings, onDownload);
}

async function openAppPort(
  parts: Parts,
  token: string,
  { appPort, app: options, drainMs }: DesktopSettings,
  opened: Closers,
): Promise<{ app: DesktopApp; port: number }> {
  let port = appPort ?? (await usualPort());
  const { chats, events } = parts;
  // Loading a model may take longer than any timeout.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const post = (endpoint: string, body: object, signal: AbortSignal) => {
    const url = `http://${HOST}:${port}${COMPLETIONS_PATH}/v1/${endpoint}`;
    return request(url, { method: 'POST', headers, body: JSON.stringify(body), signal, dispatcher });
  };
  const completions = new ChatCompletions({
    chats,
    events,
    mcpTools: (chat, signal) => parts.mcp.definitions(chat, signal),
    passages: new PassageChooser({
      vectors: parts.vectors,
      embedders: () => embeddersOf(parts.instances.models),
      embed: async (model, input, signal) => {
        const reply = await post('embeddings', { model, input, encoding_format: 'base64' }, signal);
        const { data, error } = (await reply.body.json()) as { data: { embedding: string }[]; error?: Error };
        if (error !== undefined) throw new Error(error.message);
        return data.map(({ embedding }) => embedding);
      },
    }),
    wantsTitles: () => parts.settings.current.generateTitles,
    request: (body, signal) => post('chat/completions', body, signal),
  });
  opened.push(() => completions.close());
  const app: DesktopApp = { ...parts, completions };
  const fastify = buildAppPort(app, {
    pages: PAGES,
    keys: { token, codes: app.codes },
    port: () => port,
    options: {
      ...options,
      drainMs,
      requests: app.requests.observer({ app: true }),
      log: app.log.forServer(() => app.settings.current.logPrompts, isRoutine),
    },
  });
  // Drain all ports in parallel.
  opened.push(() => Promise.all([app.server.stop(), app.sharing.close(), fastify.close()]));
  port = await listenAt(fastify, HOST, port);
  return { app, port };
}

async function usualPort(): Promise<number> {
  return (await isFree(APP_PORT)) ? APP_PORT : ((await freePort(APP_PORT)) ?? 0);
}
