/** The desktop app: one process with two ports, its own for pages and management, and the one that clients know. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { buildApp } from '../http/app.js';
import type { AppOptions } from '../http/context.js';
import { Metrics } from '../metrics/metrics.js';
import { desktop } from '../profiles/desktop.js';
import { listenAt } from '../server/listen.js';
import type { EngineSettings } from '../server/open-pool.js';
import { buildAppPort } from './app-port.js';
import { DeveloperServer } from './developer-server.js';
import { EventBus } from './event-bus.js';
import { Instances } from './instances.js';
import { localFile } from './local-models.js';
import type { DesktopApp } from './routes/context.js';
import { Store } from './store/database.js';
import { SettingsStore } from './store/settings.js';
import { watchModels } from './watch-models.js';

export interface DesktopSettings {
  /** The folder of what the app keeps. */
  dataDir: string;
  appPort: number;
  /** Files of models beside those that are found. */
  models: readonly string[];
  /** The model that comes with chasqui. */
  demoModel: string;
  engine: EngineSettings;
  /** Of both ports. */
  app: Pick<AppOptions, 'optionNames' | 'stallTimeoutMs'>;
  /** How long running replies may go on when the server is stopped. */
  drainMs: number;
  /** Somebody has asked the app to quit. */
  onQuit(): void;
}

export interface Desktop {
  app: DesktopApp;
  token: string;
  port: number;
  close(): Promise<void>;
}

const HOST = desktop.host;
const PAGES = fileURLToPath(new URL('./ui', import.meta.url));

export async function openDesktop(settings: DesktopSettings): Promise<Desktop> {
  const store = Store.open(settings.dataDir);
  const chosen = new SettingsStore(store);
  const metrics = new Metrics();
  const events = new EventBus();
  const options: AppOptions = { ...settings.app, metrics, drainMs: settings.drainMs };
  const instances = new Instances({
    engine: settings.engine,
    metrics,
    selected: () => server.selected,
    defaultsOf: (model) => chosen.defaultsOf(model),
    ttlMs: () => chosen.current.ttl * 1000,
    onFailure: () => undefined,
  });
  const server: DeveloperServer = new DeveloperServer(
    {
      host: HOST,
      build: () => buildApp(instances.pool, desktop, options),
      load: (model, config) => instances.load(model, config),
      onStarted: (port, lastModel) => chosen.change({ port, lastModel }),
      onChange: (state) => events.publish('server', state),
    },
    chosen.current.port,
  );
  instances.know([...settings.models.map((file) => localFile(file)), localFile(settings.demoModel, 'builtin')]);
  await instances.pool.start([]);
  const token = chosen.own('token', () => randomBytes(24).toString('base64url'));
  const app: DesktopApp = { events, instances, server, settings: chosen, quit: settings.onQuit };
  let port = settings.appPort;
  const appPort = buildAppPort(app, { pages: PAGES, token, port: () => port, options });
  const stopWatching = watchModels(instances, events);
  const close = async (): Promise<void> => {
    stopWatching();
    try {
      await Promise.all([server.stop(), appPort.close()]);
      await instances.pool.close();
    } finally {
      store.close();
    }
  };
  try {
    port = await listenAt(appPort, HOST, settings.appPort);
  } catch (error) {
    await close();
    throw error;
  }
  return { app, token, port, close };
}
