/** Starts a server from a profile and a model's path, and stops it. */
import { statSync } from 'node:fs';
import type net from 'node:net';
import os from 'node:os';
import { SupervisedEngine, type SupervisorHooks } from '../engine/child/supervised-engine.js';
import type { Engine, ModelInfo } from '../engine/engine.js';
import { type LoadHooks, type LoadOptions, modelIdOf } from '../engine/load-options.js';
import { loadModel } from '../engine/model.js';
import { buildApp } from '../http/app.js';
import type { AppOptions } from '../http/context.js';
import { basePathOf, type Deployment } from '../http/guards/base-path.js';
import type { KeyStore } from '../keys/key-store.js';
import { Metrics } from '../metrics/metrics.js';
import type { OtherNames } from '../metrics/other-names.js';
import { openSpans } from '../metrics/spans.js';
import { type ModelSource, SingleModel } from '../models/single-model.js';
import type { Profile } from '../profiles/profile.js';
import { closeServer } from './close-server.js';

export interface StartSettings {
  modelPath: string;
  /** Default: the profile's. */
  host?: string;
  /** Default: the profile's. 0 takes any free port. */
  port?: number;
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

export interface EngineSettings extends Pick<SupervisorHooks, 'stepTimeoutMs' | 'coreDumps' | 'onRestart'> {
  /** Whether the engine computes in the server's own process, which then ends with it; default false. */
  inProcess?: boolean;
}

export interface DeploymentSettings extends Deployment {
  auth: 'private' | 'public';
  /** The folder of the API keys. */
  dataDir: string;
}

export interface Server {
  /**
   * When the model can be used: what is known of it, or `null` if the server was stopped before. Rejects with a
   * `ChasquiError` when it cannot be loaded; the server has been stopped then.
   */
  ready: Promise<ModelInfo | null>;
  host: string;
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
 * Listens, and then loads the model: until that is done, requests that need it are told to come again. Rejects with a
 * `ChasquiError` when the settings do not fit together, and with Node's own error when the port is not free.
 */
export async function start(profile: Profile, settings: StartSettings): Promise<Server> {
  const host = settings.host ?? profile.host;
  const port = settings.port ?? profile.port;
  const { deployment, metricsNames = [], shutdownTimeoutMs: drainMs = SHUTDOWN_TIMEOUT_MS } = settings;
  const basePath = basePathOf(profile, deployment);
  const metrics = new Metrics({ names: metricsNames });
  const pool = new SingleModel(sourceOf(settings, metrics), { anyName: !profile.checksModelName });
  const keys = deployment?.auth === 'private' ? await openKeys(deployment.dataDir) : null;
  let app: ReturnType<typeof buildApp> | undefined;
  let stopping = false;
  const stop = (): Promise<void> => {
    stopping = true;
    return closeServer({ app, pool, keys });
  };
  try {
    app = buildApp(pool, profile, {
      drainMs,
      metrics,
      spans: await openSpans(),
      ...imageHostsAt(host),
      ...settings.app,
      allowedHosts: [...ownNames(host), ...(settings.app?.allowedHosts ?? [])],
      ...(deployment && { deployment, access: keys ? (key) => keys.admits(key, deployment.org) : 'public' }),
    });
    await app.listen({ host, port });
  } catch (error) {
    await stop();
    throw error;
  }
  const ready = async (): Promise<ModelInfo | null> => {
    try {
      const engine = await pool.load({ onProgress: settings.hooks?.onProgress });
      return stopping ? null : engine.model;
    } catch (error) {
      if (stopping) return null;
      await stop();
      throw error;
    }
  };
  return {
    ready: ready(),
    host,
    port: (app.server.address() as net.AddressInfo).port,
    basePath,
    stop,
    stopWithinMs: drainMs + AFTER_DRAINING_MS,
  };
}

function sourceOf(settings: StartSettings, metrics: Metrics): ModelSource {
  const { modelPath, model = {} } = settings;
  const id = modelIdOf(modelPath, model);
  const open = async (hooks: LoadHooks): Promise<Engine> => {
    const began = performance.now();
    const engine = await openEngine(settings, hooks, () => metrics.engineRestarted(id));
    metrics.modelLoaded(id, (performance.now() - began) / 1000);
    return engine;
  };
  return { id, sizeBytes: statSync(modelPath, { throwIfNoEntry: false })?.size ?? null, open };
}

async function openEngine(settings: StartSettings, hooks: LoadHooks, onRestarted: () => void): Promise<Engine> {
  const { modelPath, model = {}, engine = {} } = settings;
  const { inProcess = false, onRestart, ...supervision } = engine;
  if (inProcess) return loadModel(modelPath, model, hooks);
  return SupervisedEngine.open(modelPath, model, {
    ...hooks,
    ...supervision,
    onRestart: (event) => {
      if (event.afterMs !== null) onRestarted();
      onRestart?.(event);
    },
  });
}

/** Imported only when needed: libsql has a native part, and the other modes should start on platforms without one. */
async function openKeys(folder: string): Promise<KeyStore> {
  const { KeyStore } = await import('../keys/key-store.js');
  return KeyStore.open(folder);
}

/** The names by which others in the network may call a server that listens at all addresses. */
function ownNames(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [os.hostname(), `${os.hostname()}.local`] : [host];
}

/** A server that others can reach must not fetch images from this machine's own services for them. */
function imageHostsAt(host: string): Pick<AppOptions, 'imageHosts'> {
  return ['localhost', '127.0.0.1', '::1'].includes(host) ? {} : { imageHosts: 'public' };
}
