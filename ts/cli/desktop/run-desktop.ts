/** Runs `chasqui desktop`: the app until Quit or Ctrl-C, or a new window of the running app. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { OpeningCode } from '../../desktop/api-types.js';
import { type AppEntry, installEntry, removeEntry } from '../../desktop/app-entry.js';
import { type Desktop, openDesktop } from '../../desktop/desktop.js';
import type { LoginStart } from '../../desktop/login-start.js';
import { removeOpeningPages, writeOpeningPage } from '../../desktop/opening-codes.js';
import { PAGES } from '../../desktop/pages.js';
import { APP_PORT } from '../../desktop/ports.js';
import { InstanceLock } from '../../desktop/single-instance.js';
import { openTray } from '../../desktop/tray/tray.js';
import { openWindow } from '../../desktop/window.js';
import { DEMO_MODEL, dataDir } from '../../hub/data-folder.js';
import { hubSettings } from '../../hub/hub-settings.js';
import { libraryPlaces } from '../../hub/library-places.js';
import { ownCall } from '../../own-call.js';
import { stopOnSignals } from '../../server/stop-on-signals.js';
import { installCommand, newerVersion } from '../../updates/update-check.js';
import { exitCodeOf } from '../errors/exit-codes.js';
import { explainFailure } from '../errors/explain-failure.js';
import { DESKTOP_OPTIONS, type DesktopOptions } from '../options/desktop-option-table.js';
import { OPTION_NAMES } from '../options/option-names.js';
import { givenOptions } from '../options/table-options.js';
import { baseUrl } from '../output/curl-line.js';
import { updateLine } from '../output/update-line.js';
import { DesktopClient } from './desktop-client.js';

const HOST = '127.0.0.1';

/** Time to close after the running replies have ended. */
const CLOSE_MS = 10_000;

export async function runDesktop(parsed: Readonly<Record<string, unknown>>): Promise<void> {
  let options: DesktopOptions = {};
  try {
    options = givenOptions(DESKTOP_OPTIONS, parsed);
    if (options.install !== undefined) {
      const file = options.install ? installEntry(appEntry()) : removeEntry(appEntry());
      console.log(
        options.json
          ? JSON.stringify({ file, installed: options.install })
          : `${options.install ? 'Wrote' : 'Removed'} ${file}`,
      );
      return;
    }
    const folder = path.resolve(dataDir(options.dataDir));
    const lock = InstanceLock.take(folder);
    if (lock === null) await useOther(folder, options);
    else await run(folder, lock, options);
  } catch (error) {
    console.error(
      `chasqui: ${explainFailure(error, { host: HOST, port: options.appPort ?? APP_PORT, portFlag: '--app-port' })}`,
    );
    process.exit(exitCodeOf(error));
  }
}

async function run(folder: string, lock: InstanceLock, options: DesktopOptions): Promise<void> {
  const { shutdownTimeout = DESKTOP_OPTIONS.shutdownTimeout.default } = options;
  removeOpeningPages(folder);
  const desktop = await openDesktop({
    dataDir: folder,
    appPort: options.appPort ?? null,
    models: isFile(options.model) ? [path.resolve(options.model)] : [],
    demoModel: DEMO_MODEL,
    engine: {},
    hub: (given) => hubSettings(process.env, given),
    places: (folders) => ({
      ...libraryPlaces(process.env, hubSettings(process.env).cacheFolder, folders),
      importFolder: path.join(folder, 'models'),
    }),
    login: loginStart(),
    environment: process.env,
    app: { optionNames: OPTION_NAMES },
    drainMs: shutdownTimeout * 1000,
    findUpdate: async () => {
      const found = options.updateCheck === false ? null : await newerVersion({ folder, environment: process.env });
      if (found === null) return null;
      console.error(updateLine(found));
      return { version: found.version, command: installCommand(found) };
    },
    onQuit: () => process.kill(process.pid, 'SIGTERM'),
  });
  const url = baseUrl(HOST, desktop.port);
  lock.announce({ url, port: desktop.port, pid: process.pid, token: desktop.token });
  const tray = openTray({
    environment: process.env,
    events: desktop.app.events,
    language: () => desktop.app.settings.current.language,
    server: () => desktop.app.server.state,
    icons: PAGES,
    open: () => openWindow(writeOpeningPage(folder, url, desktop.app.codes.make()), folder),
    startServer: () => startServer(desktop, { ...options, startServer: true }),
    stopServer: () => desktop.app.server.stop(),
    quit: () => process.kill(process.pid, 'SIGTERM'),
    onError: (error) => desktop.app.log.say('warn', `Tray icon: ${error.message}`),
  });
  const stop = async () => {
    (await tray)?.close();
    await desktop.close();
    removeOpeningPages(folder);
    lock.release();
  };
  const onStop = () => console.error('chasqui: quitting; running replies may take a few seconds to finish');
  stopOnSignals(stop, onStop, { hardStopMs: shutdownTimeout * 1000 + CLOSE_MS });
  await startServer(desktop, options);
  await show({ url, token: desktop.token, makeCode: () => desktop.app.codes.make() }, folder, options);
}

/** Starts the server if the options or the settings require it. */
async function startServer({ app }: Desktop, options: DesktopOptions): Promise<void> {
  const { settings, instances, server } = app;
  const port = options.port ?? settings.current.port;
  server.expectPort(port);
  if (!(options.startServer ?? settings.current.startServerAtLaunch)) return;
  const model = modelOf(options) ?? settings.current.lastModel ?? instances.models[0]?.id ?? '';
  try {
    await server.start(model, port);
  } catch (error) {
    console.error(`chasqui: the server was not started: ${explainFailure(error)}`);
  }
}

/** Forwards the options of this start to the running app. */
async function useOther(folder: string, options: DesktopOptions): Promise<void> {
  const client = await DesktopClient.find(folder);
  if (options.startServer) {
    const model = modelOf(options) ?? (await client.lastModel());
    await client.post('/api/v1/server/start', { model, ...(options.port !== undefined && { port: options.port }) });
  }
  const makeCode = async () => (await client.post<OpeningCode>('/api/v1/opening-code')).code;
  await show({ url: client.url, token: client.token, makeCode }, folder, options);
}

function isFile(model: string | undefined): model is string {
  return model !== undefined && /\.gguf$/i.test(model);
}

function modelOf({ model }: DesktopOptions): string | undefined {
  return isFile(model) ? path.resolve(model) : model;
}

interface OpenApp {
  url: string;
  token: string;
  makeCode(): string | Promise<string>;
}

async function show({ url, token, makeCode }: OpenApp, folder: string, { open, json }: DesktopOptions): Promise<void> {
  const address = `${url}/?token=${token}`;
  const isOpen = (open ?? hasDisplay()) && (await openWindow(writeOpeningPage(folder, url, await makeCode()), folder));
  if (json) console.log(JSON.stringify({ url: address, window: isOpen }));
  else if (isOpen)
    console.log(`The app runs at ${url}\nIf no window shows it, \`${ownCall()} desktop --no-open\` prints its address`);
  else console.log(`Open this address in a browser:\n${address}`);
}

function hasDisplay(): boolean {
  if (process.platform !== 'linux') return true;
  return Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
}

/** The command that starts this program again. */
function ownCommand(...args: string[]): string[] {
  return [process.execPath, path.resolve(process.argv[1] ?? ''), 'desktop', ...args];
}

function appEntry(): AppEntry {
  return {
    command: ownCommand(),
    platform: process.platform,
    data: process.env.XDG_DATA_HOME || path.join(homedir(), '.local', 'share'),
    icon: path.join(PAGES, 'icon.svg'),
  };
}

function loginStart(): LoginStart {
  const home = homedir();
  return {
    command: ownCommand('--no-open'),
    platform: process.platform,
    home,
    config: process.env.XDG_CONFIG_HOME || path.join(home, '.config'),
  };
}
