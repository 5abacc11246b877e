// The tray icon on a real session bus, where `dbus-send` calls it as desktops do.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventBus } from '../../ts/desktop/event-bus.js';
import { type Interface, SessionBus } from '../../ts/desktop/tray/session-bus.js';
import { openTray } from '../../ts/desktop/tray/tray.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const tray = suite('tray icon');
const noBus = suite('no session bus');
const folder = desktopFolder();
const address = `unix:path=${path.join(folder, 'bus')}`;
const openings = path.join(folder, 'opened');
const WATCHER: Interface = {
  name: 'org.kde.StatusNotifierWatcher',
  methods: { RegisterStatusNotifierItem: ['s', ''] },
};
const MENU = 'com.canonical.dbusmenu';
let daemon: ChildProcess;
let watcher: SessionBus;
/** Names of the icons that were registered. */
const registered: string[] = [];
let app: RunningDesktop;

tray.after(async () => {
  daemon?.kill();
  await app?.kill();
  removeFolder(folder);
});

async function startWatcher(): Promise<SessionBus> {
  const bus = await SessionBus.connect(address, () => undefined);
  bus.export('/StatusNotifierWatcher', WATCHER, {
    RegisterStatusNotifierItem: (name: string) => void registered.push(name),
  });
  await bus.own(WATCHER.name);
  return bus;
}

/** Prints the reply, or the error. */
async function send(where: string, member: string, ...args: string[]): Promise<string> {
  const command = ['--print-reply', `--bus=${address}`, `--dest=${registered.at(-1)}`, where, member, ...args];
  const { stdout } = await promisify(execFile)('dbus-send', command).catch(({ stderr }) => ({ stdout: `${stderr}` }));
  return stdout;
}

const layout = () => send('/MenuBar', `${MENU}.GetLayout`, 'int32:0', 'int32:-1', 'array:string:');
const labels = async () =>
  [...(await layout()).matchAll(/string "label"\s+variant\s+string "(.*)"/g)].map(([, label]) => label);
const click = (id: number) =>
  send('/MenuBar', `${MENU}.Event`, `int32:${id}`, 'string:clicked', 'variant:string:', 'uint32:0');
const serverState = async () => (await app.done('GET', '/api/v1/state')).server.state;

tray('a watcher gets the icon of an app that starts', async () => {
  daemon = spawn('dbus-daemon', ['--session', '--nofork', '--print-address', `--address=${address}`]);
  const print = once(daemon.stdout as NodeJS.ReadableStream, 'data');
  // Rejects if there is no such program.
  await Promise.race([print, once(daemon, 'exit')]);
  watcher = await startWatcher();
  const browser = path.join(folder, 'browser');
  writeFileSync(browser, `#!/bin/sh\necho "$@" >> ${openings}\n`);
  chmodSync(browser, 0o755);
  const variables = { DBUS_SESSION_BUS_ADDRESS: address, CHROME_PATH: browser, LC_ALL: 'de_DE.UTF-8' };
  app = await startDesktop([], { folder, variables });
  await until(() => registered.length === 1, 'the icon');
});

tray('it has an icon and a menu in the language of the session', async () => {
  const item = await send(
    '/StatusNotifierItem',
    'org.freedesktop.DBus.Properties.GetAll',
    'string:org.kde.StatusNotifierItem',
  );
  assert.match(item, /string "Id"\s+variant\s+string "chasqui"/);
  assert.match(item, /string "Menu"\s+variant\s+object path "\/MenuBar"/);
  const [, icons = ''] = /string "IconThemePath"\s+variant\s+string "(.*)"/.exec(item) ?? [];
  assert.ok(existsSync(path.join(icons, 'icon.svg')), icons);
  assert.equal(await labels(), ['chasqui öffnen', 'Server starten', 'chasqui beenden']);
});

tray('a click starts the server, and another one stops it', async () => {
  const revision = async () => Number(/uint32 (\d+)/.exec(await layout())?.[1]);
  const before = await revision();
  await click(2);
  await until(async () => (await serverState()) === 'running', 'the server runs');
  assert.equal((await labels())[1], 'Server stoppen');
  assert.ok((await revision()) > before);
  await click(2);
  await until(async () => (await serverState()) === 'stopped', 'the server is stopped');
  assert.equal((await labels())[1], 'Server starten');
});

tray('the icon and the first entry open the window', async () => {
  const opened = () => (existsSync(openings) ? readFileSync(openings, 'utf8').trim().split('\n').length : 0);
  await send('/StatusNotifierItem', 'org.kde.StatusNotifierItem.Activate', 'int32:0', 'int32:0');
  await until(() => opened() === 1, 'a window');
  await click(1);
  await until(() => opened() === 2, 'another window');
  assert.match(readFileSync(openings, 'utf8'), /--app=file:/);
});

tray('the language follows the settings', async () => {
  await app.done('PUT', '/api/v1/settings', { language: 'fr' });
  assert.equal((await labels())[2], 'Quitter chasqui');
  await app.done('PUT', '/api/v1/settings', { language: null });
});

tray('calls that make no sense get errors', async () => {
  const get = 'org.freedesktop.DBus.Properties.Get';
  const calls = [
    ['/StatusNotifierItem', get, 'string:org.kde.StatusNotifierItem', 'string:Missing'],
    ['/StatusNotifierItem', get],
    ['/StatusNotifierItem', 'org.kde.StatusNotifierItem.constructor'],
    ['/StatusNotifierItem', 'org.kde.StatusNotifierItem.toString'],
    ['/MenuBar', `${MENU}.GetGroupProperties`, 'string:none'],
    ['/MenuBar', `${MENU}.Nothing`],
  ] as const;
  for (const [where, member, ...args] of calls) assert.match(await send(where, member, ...args), /^Error /, member);
  await click(77);
  assert.is((await labels()).length, 3);
});

tray('an action that fails is logged', async () => {
  const pages = path.join(folder, 'opening');
  rmSync(pages, { recursive: true, force: true });
  writeFileSync(pages, '');
  await click(1);
  const isLogged = async () =>
    (await app.done('GET', '/api/v1/logs')).lines.some(({ message }: { message: string }) =>
      /^Tray icon: /.test(message),
    );
  await until(isLogged, 'the error');
  rmSync(pages);
});

tray('a watcher that starts later gets the icon', async () => {
  const before = registered.length;
  watcher.close();
  watcher = await startWatcher();
  await until(() => registered.length > before, 'the icon is registered again');
});

tray('Quit ends the app', async () => {
  await click(3);
  assert.equal(await app.child.exited, { code: 0, signal: null }, app.child.output.stderr);
});

tray('the app outlives its bus, and runs without one', async () => {
  const variables = { DBUS_SESSION_BUS_ADDRESS: address };
  const count = registered.length;
  app = await startDesktop([], { folder, variables });
  await until(() => registered.length > count, 'the icon');
  daemon.kill();
  await once(daemon, 'exit');
  await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  await app.stop();
  app = await startDesktop([], { folder, variables });
  await app.stop();
});

noBus('there is no tray icon', async () => {
  const none = async () => assert.unreachable();
  const settings = { events: new EventBus(), language: () => null, server: none, icons: '' } as never as object;
  for (const place of [undefined, '', 'unix:path=/none', 'tcp:host=127.0.0.1,port=1', 'nonsense', 'unix:abstract=x']) {
    const environment = { DBUS_SESSION_BUS_ADDRESS: place };
    assert.is(await openTray({ ...settings, environment } as never), null, place);
  }
});

// Without these programs there is no bus to test with.
if (['dbus-daemon', 'dbus-send'].every((program) => spawnSync(program, ['--version']).error === undefined)) tray.run();
noBus.run();
