/** Starts a server from a profile and a model's path, and stops it. */
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
import { KeyFile } from '../keys/key-file.js';
import type { KeyStore } from '../keys/key-store.js';
import { Metrics } from '../metrics/metrics.js';
import type { OtherNames } from '../metrics/other-names.js';
import { openSpans } from '../metrics/spans.js';
import type { ModelEntry } from '../models/pool.js';
import type { Profile } from '../profiles/profile.js';
import type { Certificate } from './certificate.js';
import { closeServer } from './close-server.js';
import { listenOnSocket } from './listen-on-socket.js';
import { type EngineSettings, type ModelsSettings, openPool } from './open-pool.js';

export interface StartSettings {
  models: ModelsSettings;
  /** Default: the profile's. */
  host?: string;
  /** Default: the profile's. 0 takes any free port. */
  port?: number;
  /** A Unix socket to listen on in place of host and port, for this account alone. */
  socketPath?: string;
  /** To be reached by https; default: by http. */
  certificate?: Certificate;
  /** In local modes that ask for keys: which ones open the server. */
  access?: KeyCheck;
  model?: LoadOptions;
  hooks?: Pick<LoadHooks, 'onProgress'>;
  engine?: EngineSettings;
  app?: Omit<AppOptions, 'drainMs' | 'deployment' | 'access' | 'metrics' | 'spans'>;
  /** How long running replies may go on when the server is stopped; default 25,000. */
  shutdownTimeoutMs?: number;
  /** Other servers whose names of metrics are added to our own; default none. */
  metricsNames?: readonly OtherNames[];
  /** Needed by modes that have a base path. */
  deployment?: DeploymentSettings;
}

export interface DeploymentSettings extends Deployment {
  auth: 'private' | 'public';
  /** The folder of the API keys. */
  dataDir: string;
  /** A file of keys in place of those of the folder, see `KeyFile`; default none. */
  keysFile?: string;
}

export interface Server {
  /**
   * Waits for the models, and resolves with what is known of them when requests are taken; with `null` if the server was
   * stopped before. Rejects with a `ChasquiError` when the only model cannot be loaded; the server has been stopped then.
   */
  load(): Promise<readonly ModelEntry[] | null>;
  host: string;
  /** 0 where it listens on a Unix socket. */
  port: number;
  /** The part of its paths before `/v1`. */
  basePath: string;
  /**
   * Lets running replies finish for as long as the settings say, ends the others with an error, frees the model. Rejects
   * with `internal_error` when the engine has not ended some seconds later: only the end of the process frees it then.
   */
  stop(): Promise<void>;
  /** What `stop` takes at most is less than this. */
  stopWithinMs: number;
}

/** Kubernetes gives a container 30 seconds, unless told otherwise. */
const SHUTDOWN_TIMEOUT_MS = 25_000;

/** For replies that are cut short to say so, and for the engine to end: a second more than both take at most. */
const AFTER_DRAINING_MS = 10_000;

/**
 * Begins to load the models, and listens. Until one is loaded, requests that need it are told to come again. Rejects with a
 * `ChasquiError` when the settings do not fit together, and with Node's own error when the port is not free.
 */
export async function start(profile: Profile, settings: StartSettings): Promise<Server> {
  const host = settings.host ?? profile.host;
  const port = settings.port ?? profile.port;
  const {
    deployment,
    socketPath,
    certificate,
    metricsNames = [],
    shutdownTimeoutMs: drainMs = SHUTDOWN_TIMEOUT_MS,
  } = settings;
  const basePath = basePathOf(profile, deployment);
  const metrics = new Metrics({ names: metricsNames });
  const models = openPool(settings, metrics, !profile.checksModelName);
  const keys = deployment?.auth === 'private' ? await openKeys(deployment) : null;
  const responses = deployment?.auth === 'private' ? await openResponses(deployment) : null;
  // The models load while what serves them is imported.
  const loading = models.start(settings.hooks?.onProgress);
  loading.catch(() => {});
  let app: ReturnType<typeof buildApp> | undefined;
  let stopping = false;
  const stop = (): Promise<void> => {
    stopping = true;
    const stores = [keys, responses];
    const close = (): void => {
      for (const store of stores) store?.close();
    };
    return closeServer({ app, pool: { list: () => models.pool.list(), close: () => models.close() }, keys: { close } });
  };
  try {
    const { buildApp } = await import('../api/app.js');
    app = buildApp(models.pool, profile, {
      drainMs,
      metrics,
      spans: await openSpans(),
      ...(responses && { responses }),
      ...(certificate && { tls: certificate.read() }),
      ...(settings.access && { access: settings.access }),
      ...reachAt(host),
      ...settings.app,
      // No page of a browser gets at a Unix socket.
      allowedHosts: socketPath ? [ANY_HOST] : [...ownNames(host), ...(settings.app?.allowedHosts ?? [])],
      ...(deployment && {
        deployment,
        access: keys ? (key) => keys.admits(key, deployment.org, deployment.app) : 'public',
      }),
    });
    if (certificate) renewCertificate(app.server as https.Server, certificate);
    if (socketPath === undefined) await app.listen({ host, port });
    else await listenOnSocket(app, socketPath);
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
  return {
    load,
    host,
    port: (app.server.address() as net.AddressInfo).port ?? 0,
    basePath,
    stop,
    stopWithinMs: drainMs + AFTER_DRAINING_MS,
  };
}

function renewCertificate(server: https.Server, certificate: Certificate): void {
  const stopWatching = certificate.watch((contents) => server.setSecureContext(contents));
  server.once('close', stopWatching);
}

/** Imported only when needed: libsql has a native part, and the other modes should start on platforms without one. */
async function openKeys({ dataDir, keysFile }: DeploymentSettings): Promise<KeyStore | KeyFile> {
  if (keysFile !== undefined) return new KeyFile(keysFile);
  const { KeyStore } = await import('../keys/key-store.js');
  return KeyStore.open(dataDir);
}

/** Where keys come as a file, the folder is nobody's: responses are kept in memory then. */
async function openResponses({ dataDir, keysFile }: DeploymentSettings): Promise<ResponseStore | null> {
  if (keysFile !== undefined) return null;
  const { SqliteStore } = await import('../api/openai/responses/store/sqlite-store.js');
  return SqliteStore.open(dataDir);
}

/** The names by which others in the network may call a server that listens at all addresses. */
function ownNames(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [os.hostname(), `${os.hostname()}.local`] : [host];
}

/**
 * A server that others can reach must not fetch images from this machine's own services for them. And they call it by names
 * that it cannot know, such as that of its service in a Compose file.
 */
function reachAt(host: string): Pick<AppOptions, 'imageHosts' | 'allowsDotlessHosts'> {
  const isOpen = !['localhost', '127.0.0.1', '::1'].includes(host);
  return isOpen ? { imageHosts: 'public', allowsDotlessHosts: true } : {};
}
