/** `chasqui desktop`: the desktop app, until its Quit or Ctrl-C. A second start shows the one that runs. */
import { homedir } from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { type Desktop, openDesktop } from '../desktop/desktop.js';
import type { LoginStart } from '../desktop/login-start.js';
import { InstanceLock } from '../desktop/single-instance.js';
import { openWindow } from '../desktop/window.js';
import { hubSettings } from '../hub/hub-settings.js';
import { libraryPlaces } from '../hub/library-places.js';
import { stopOnSignals } from '../server/stop-on-signals.js';
import { baseUrl } from './curl-line.js';
import { dataDir } from './data-dir.js';
import { DEMO_MODEL } from './demo-model.js';
import { DesktopClient } from './desktop-client.js';
import { APP_PORT, DESKTOP_OPTIONS, type DesktopOptions } from './desktop-option-table.js';
import { explainFailure } from './explain-failure.js';
import { OPTION_NAMES } from './option-names.js';
import { addTableOptions, givenOptions } from './table-options.js';

/** What comes after running replies have been ended. */
const CLOSE_MS = 10_000;

export function desktopCommand(): Command {
  const command = new Command('desktop')
    .description('Open the desktop app: find models, chat with them, serve them to other programs.')
    .addHelpOption(new Option('-h, --help', 'explain the options').helpGroup('Help:'))
    .action(desktop);
  return addTableOptions(command, DESKTOP_OPTIONS);
}

async function desktop(parsed: Readonly<Record<string, unknown>>): Promise<void> {
  let options: DesktopOptions = {};
  try {
    options = givenOptions(DESKTOP_OPTIONS, parsed);
    const folder = path.resolve(dataDir(options.dataDir));
    const lock = InstanceLock.take(folder);
    if (lock === null) await useOther(folder, options);
    else await run(folder, lock, options);
  } catch (error) {
    console.error(`chasqui: ${explainFailure(error, { host: '127.0.0.1', port: options.appPort ?? APP_PORT })}`);
    process.exit(1);
  }
}

async function run(folder: string, lock: InstanceLock, options: DesktopOptions): Promise<void> {
  const { shutdownTimeout = DESKTOP_OPTIONS.shutdownTimeout.default } = options;
  const quit = () => process.kill(process.pid, 'SIGTERM');
  const app = await openDesktop({
    dataDir: folder,
    appPort: options.appPort ?? APP_PORT,
    models: options.model?.endsWith('.gguf') ? [path.resolve(options.model)] : [],
    demoModel: DEMO_MODEL,
    engine: {},
    hub: (given) => hubSettings(process.env, given),
    places: (folders) => ({
      ...libraryPlaces(process.env, hubSettings(process.env).cacheFolder, folders),
      importFolder: path.join(folder, 'models'),
    }),
    login: loginStart(),
    app: { optionNames: OPTION_NAMES },
    drainMs: shutdownTimeout * 1000,
    onQuit: quit,
  });
  lock.announce({ url: baseUrl('127.0.0.1', app.port), port: app.port, pid: process.pid, token: app.token });
  const stop = async () => {
    await app.close();
    lock.release();
  };
  const onStop = () => console.error('chasqui: quitting; running replies may take a few seconds to finish');
  stopOnSignals(stop, onStop, { hardStopMs: shutdownTimeout * 1000 + CLOSE_MS });
  if (options.startServer) await startServer(app, options);
  await show(baseUrl('127.0.0.1', app.port), app.token, folder, options);
}

function loginStart(): LoginStart {
  const home = homedir();
  return {
    command: [process.execPath, path.resolve(process.argv[1] ?? ''), 'desktop', '--no-open'],
    platform: process.platform,
    home,
    config: process.env.XDG_CONFIG_HOME || path.join(home, '.config'),
  };
}

async function startServer({ app }: Desktop, { model, port }: DesktopOptions): Promise<void> {
  const { settings, instances, server } = app;
  const chosen = model ?? settings.current.lastModel ?? instances.models[0]?.id ?? '';
  try {
    await server.start(model?.endsWith('.gguf') ? path.resolve(chosen) : chosen, port ?? settings.current.port);
  } catch (error) {
    console.error(`chasqui: the server was not started: ${explainFailure(error)}`);
  }
}

/** The app that runs does what this start was asked to do. */
async function useOther(folder: string, options: DesktopOptions): Promise<void> {
  const client = await DesktopClient.find(folder);
  if (options.startServer || options.model !== undefined) {
    const model = options.model ?? (await client.lastModel());
    await client.post('/api/v1/server/start', { model, ...(options.port !== undefined && { port: options.port }) });
  }
  await show(client.url, client.token, folder, options);
}

async function show(url: string, token: string, folder: string, { open, json }: DesktopOptions): Promise<void> {
  const address = `${url}/?token=${token}`;
  const isOpen = (open ?? hasDisplay()) && (await openWindow(address, folder));
  if (json) console.log(JSON.stringify({ url: address, window: isOpen }));
  else if (isOpen) console.log(`The app runs at ${url}`);
  else console.log(`Open this address in a browser:\n${address}`);
}

function hasDisplay(): boolean {
  if (process.platform !== 'linux') return true;
  return Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
}
