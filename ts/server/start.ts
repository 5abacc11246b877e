/** Starts and stops a server. */
import type https from 'node:https';
import type net from 'node:net';
import os from 'node:os';
import type { buildApp } from '../api/app.js';
import type { AppOptions } from '../api/context.js';
import type { ResponseStore } from '../api/openai/responses/store/response-store.js';
import type { LoadHooks, LoadOptions } from '../engine/load-options.js';
import { basePathOf, type Deployment } from '../http/context.js';
import type { KeyCheck } from '../http/guards/authentication.js';
import { ANY_HOST } from '../http/guards/guard-requests.js';
import type { HubContext } from '../hub/open-hub.js';
import { KeyFile } from '../keys/key-file.js';
import type { KeyStore } from '../keys/key-store.js';
import type { McpServers, McpSources } from '../mcp/mcp-servers.js';
import type { Environment } from '../mcp/stdio-transport.js';
import { Metrics } from '../metrics/metrics.js';
import type { OtherNames } from '../metrics/other-names.js';
import { openSpans } from '../metrics/spans.js';
import type { ModelEntry } from '../models/pool.js';
import type { Profile } from '../profiles/profile.js';
import type { Certificate } from './certificate.js';
import { closeServer } from './close-server.js';
import { listenAtAll } from './listen.js';
import { listenOnSocket } from './listen-on-socket.js';
import { type EngineSettings, type ModelsSettings, openPool, type ServedModels } from './open-pool.js';
import type { ServedLibrary } from './served-library.js';

export interface StartSettings {
  models: ModelsSettings;
  /** Addresses to listen on; default: the profile's. */
  hosts?: readonly string[];
  /** Default: the profile's. 0 takes any free port. */
  port?: number;
  /** A Unix socket to listen on instead of host and port; only the current user may connect. */
  socketPath?: string;
  /** Enables https. */
  certificate?: Certificate;
  /** Checks API keys in local modes; default: no keys. */
  access?: KeyCheck;
  model?: LoadOptions;
  hooks?: Pick<LoadHooks, 'onProgress'>;
  engine?: EngineSettings;
  app?: Omit<AppOptions, 'drainMs' | 'deployment' | 'access' | 'metrics' | 'spans' | 'mcp' | 'library'>;
  /** Time for running replies to finish when the server stops; default 25,000. */
  shutdownTimeoutMs?: number;
  /** Adds metrics under the names of other servers; default none. */
  metricsNames?: readonly OtherNames[];
  /** Lets clients download models of this hub and delete local ones; default: not allowed. */
  hub?: HubContext;
  /** The arguments of `McpServers`; default none. */
  mcp?: McpSettings;
  /** Required by modes with a base path. */
  deployment?: DeploymentSettings;
}

export interface McpSettings extends McpSources {
  environment: Environment;
}

export interface DeploymentSettings extends Deployment {
  auth: 'private' | 'public';
  dataDir: string;
  /** A file of keys instead of the folder, see `KeyFile`; default none. */
  keysFile?: string;
}

export interface Server {
  /**
   * Waits for the models, and resolves with them; with `null` if the server was stopped meanwhile. If the only model cannot be
   * loaded, stops the server and rejects with a `ChasquiError`.
   */
  load(): Promise<readonly ModelEntry[] | null>;
  /** The addresses; the first one is for messages. */
  hosts: readonly string[];
  /** 0 for a Unix socket. */
  port: number;
  /** Before `/v1`. */
  basePath: string;
  /**
   * Waits for running replies until `shutdownTimeoutMs`, ends the others with an error, and frees the models. Rejects with
   * `internal_error` if an engine does not end in time: then its memory is freed when the process exits.
   */
  stop(): Promise<void>;
  /** Upper bound of the duration of `stop`. */
  stopWithinMs: number;
}

/** Kubernetes gives a container 30 seconds by default. */
const SHUTDOWN_TIMEOUT_MS = 25_000;

/** For error frames of unfinished replies and for the end of the engine, plus a second. */
const AFTER_DRAINING_MS = 10_000;

/**
 * Begins to load the models, and listens. Until a model is loaded, requests that need it get `model_loading`. Rejects with a
 * `ChasquiError` if the settings contradict each other, and with Node's error if the port is taken.
 */
export async function start(profile: Profile, settings: StartSettings): Promise<Server> {
  const { deployment, certificate, metricsNames = [], shutdownTimeoutMs = SHUTDOWN_TIMEOUT_MS } = settings;
  const hosts = settings.hosts ?? [profile.host];
  const basePath = basePathOf(profile, deployment);
  const metrics = new Metrics({ names: metricsNames });
  const mcp = await openMcp(settings.mcp);
  const models = openPool(settings, metrics, !profile.checksModelName);
  const library = settings.hub && (await openLibrary(settings.hub, models));
  const stores = await openStores(deployment);
  // The models load while the HTTP modules are imported.
  const loading = models.start(settings.hooks?.onProgress);
  loading.catch(() => {});
  let app: ReturnType<typeof buildApp> | undefined;
  let stopping = false;
  const stop = (): Promise<void> => {
    stopping = true;
    const pool = { list: () => models.pool.list(), close: () => models.close() };
    return closeServer({ app, pool, mcp, library, keys: stores });
  };
  try {
    const { buildApp } = await import('../api/app.js');
    const spans = await openSpans();
    app = buildApp(models.pool, profile, {
      ...appOptions(settings, hosts, stores),
      ...(library && { library: library.clients }),
      mcp,
      drainMs: shutdownTimeoutMs,
      metrics,
      spans,
    });
    if (certificate) renewCertificate(app.server as https.Server, certificate);
    if (settings.socketPath === undefined) await listenAtAll(app, hosts, settings.port ?? profile.port);
    else await listenOnSocket(app, settings.socketPath);
  } catch (error) {
    await stop();
    throw error;
  }
  const load = async (): Promise<readonly ModelEntry[] | null> => {
    try {
      await loading;
      return stopping ? null : models.pool.list();
    } catch (error) {
      if (stopping) return null;
      await stop();
      throw error;
    }
  };
  const port = (app.server.address() as net.AddressInfo).port ?? 0;
  return { load, hosts, port, basePath, stop, stopWithinMs: shutdownTimeoutMs + AFTER_DRAINING_MS };
}

/** The servers start on their first use. Their modules are loaded now: an import that fails without free files never recovers. */
async function openMcp(settings: McpSettings | undefined): Promise<McpServers | null> {
  if (settings === undefined) return null;
  const { McpServers } = await import('../mcp/mcp-servers.js');
  const servers = new McpServers(settings, settings.environment);
  for (const field of servers.ignored) console.error(`chasqui: MCP servers: \`${field}\` has no effect`);
  return servers;
}

/** Imported on demand: the locks of downloads need SQLite. */
async function openLibrary(hub: HubContext, models: ServedModels): Promise<ServedLibrary> {
  const { ServedLibrary } = await import('./served-library.js');
  return ServedLibrary.open(hub, models);
}

/** The stores of API keys and responses; `null`: not needed, or not on disk. */
interface Stores {
  keys: KeyStore | KeyFile | null;
  responses: ResponseStore | null;
  close(): void;
}

/** Imported on demand: libsql has a native part, and the other modes should start on platforms without one. */
async function openStores(deployment: DeploymentSettings | undefined): Promise<Stores> {
  if (deployment?.auth !== 'private') return { keys: null, responses: null, close: () => {} };
  const { dataDir, keysFile } = deployment;
  if (keysFile !== undefined) {
    // Without a data folder of its own, the server keeps responses in memory.
    const keys = new KeyFile(keysFile);
    return { keys, responses: null, close: () => keys.close() };
  }
  const { KeyStore } = await import('../keys/key-store.js');
  const keys = KeyStore.open(dataDir);
  const { SqliteStore } = await import('../api/openai/responses/store/sqlite-store.js');
  const responses = SqliteStore.open(dataDir);
  const close = (): void => {
    keys.close();
    responses.close();
  };
  return { keys, responses, close };
}

function appOptions(
  { deployment, socketPath, certificate, access, app }: StartSettings,
  hosts: readonly string[],
  { keys, responses }: Stores,
): Omit<AppOptions, 'drainMs' | 'metrics' | 'spans'> {
  return {
    ...(responses && { responses }),
    ...(certificate && { tls: certificate.read() }),
    ...(access && { access }),
    ...Object.assign({}, ...hosts.map(reachableAt)),
    ...app,
    // Browsers cannot reach a Unix socket.
    allowedHosts: socketPath ? [ANY_HOST] : [...hosts.flatMap(ownNames), ...(app?.allowedHosts ?? [])],
    ...(deployment && {
      deployment,
      access: keys ? (key) => keys.admits(key, deployment.org, deployment.app) : 'public',
    }),
  };
}

function renewCertificate(server: https.Server, certificate: Certificate): void {
  const stopWatching = certificate.watch((contents) => server.setSecureContext(contents));
  server.once('close', stopWatching);
}

/** Names under which a server that listens at all addresses is reachable in its network. */
export function ownNames(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [os.hostname(), `${os.hostname()}.local`] : [host];
}

/**
 * A server that is reachable from other machines must not fetch images from services of this machine for them. Its clients may
 * use names that it cannot know, such as that of its service in a Compose file.
 */
export function reachableAt(host: string): Pick<AppOptions, 'imageHosts' | 'allowsDotlessHosts'> {
  const isOpen = !['localhost', '127.0.0.1', '::1'].includes(host);
  return isOpen ? { imageHosts: 'public', allowsDotlessHosts: true } : {};
}
