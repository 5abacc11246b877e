// Integration of the app with the operating system.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installEntry, removeEntry } from '../../../ts/desktop/app-entry.js';
import { Awake } from '../../../ts/desktop/awake.js';
import { isLoginStart, type LoginStart, quoteForDesktop, setLoginStart } from '../../../ts/desktop/login-start.js';
import { freePort, portOwner } from '../../../ts/desktop/ports.js';
import { until } from '../../support/until.js';

const system = suite('the system around the app');

system('the program that uses a port is named, and a free one is found', async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    if (process.platform === 'linux') assert.is((await portOwner(port))?.pid, process.pid);
    const free = await freePort(port - 1);
    assert.ok(free !== null && free > port, `${free} is not after ${port}`);
  } finally {
    server.close();
  }
  await until(async () => (await portOwner(port)) === null, 'nobody has the port');
});

system('a holder runs while there is work, and ends some time after', async () => {
  let isBusy = false;
  const awake = new Awake(() => isBusy, ['cat'], 1_000_000);
  awake.check(0);
  assert.not.ok(awake.isHolding);
  isBusy = true;
  awake.check(0);
  assert.ok(awake.isHolding);
  isBusy = false;
  awake.check(60_000);
  assert.ok(awake.isHolding, 'a short pause is none');
  awake.check(0);
  assert.not.ok(awake.isHolding);
  isBusy = true;
  awake.check();
  awake.close();
  assert.not.ok(awake.isHolding);
});

system('a system that cannot be held awake is asked once', async () => {
  for (const command of [['chasqui-no-such-program'], ['false']]) {
    const awake = new Awake(() => true, command, 1_000_000);
    awake.check();
    await until(() => !awake.isHolding, 'it has failed');
    awake.check();
    assert.not.ok(awake.isHolding, command[0]);
    awake.close();
  }
});

function login(platform: NodeJS.Platform, home: string): LoginStart {
  return {
    command: ['/usr/bin/node', '/opt/my apps/100%/"$x`\\y"', 'desktop', '--no-open'],
    platform,
    home,
    config: path.join(home, '.config'),
  };
}

system('a start at login is an entry that can be taken away again', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'chasqui-login-'));
  const files = {
    linux: '.config/autostart/chasqui.desktop',
    darwin: 'Library/LaunchAgents/chasqui.desktop.plist',
  } as const;
  for (const platform of ['linux', 'darwin'] as const) {
    const start = login(platform, home);
    assert.not.ok(isLoginStart(start));
    setLoginStart(start, true);
    assert.ok(isLoginStart(start));
    assert.ok(existsSync(path.join(home, files[platform])));
    setLoginStart(start, false);
    setLoginStart(start, false);
    assert.not.ok(isLoginStart(start));
  }
  setLoginStart(login('darwin', home), true);
  const plist = readFileSync(path.join(home, files.darwin), 'utf8');
  assert.match(plist, /<key>RunAtLoad<\/key>\s*<true\/>/);
  setLoginStart({ ...login('darwin', home), command: ['a&b', '<c>'] }, true);
  assert.match(
    readFileSync(path.join(home, files.darwin), 'utf8'),
    /<string>a&amp;b<\/string>\s*<string>&lt;c&gt;<\/string>/,
  );
  setLoginStart(login('linux', home), true);
  const validated = spawnSync('desktop-file-validate', [path.join(home, files.linux)], { encoding: 'utf8' });
  // It is there where desktop-file-utils are.
  if (validated.error === undefined) assert.is(validated.status, 0, validated.stdout);
  rmSync(home, { recursive: true, force: true });
});

system('the app is put among the programs of a Linux desktop, and taken away again', () => {
  const data = mkdtempSync(path.join(tmpdir(), 'chasqui-entry-'));
  const icon = path.join(data, 'icon.svg');
  writeFileSync(icon, '<svg/>');
  const entry = {
    command: ['/usr/bin/node', '/opt/chasqui/cli.js', 'desktop'],
    platform: 'linux',
    data,
    icon,
  } as const;
  const file = installEntry(entry);
  assert.is(installEntry(entry), file);
  const text = readFileSync(file, 'utf8');
  assert.match(text, /^Exec="\/usr\/bin\/node" "\/opt\/chasqui\/cli\.js" "desktop"$/m);
  const [, shown = ''] = /^Icon=(.*)$/m.exec(text) ?? [];
  assert.is(readFileSync(shown, 'utf8'), '<svg/>');
  removeEntry(entry);
  assert.not.ok(existsSync(file) || existsSync(shown));
  assert.throws(() => installEntry({ ...entry, platform: 'win32' }), /on Linux only/);
  rmSync(data, { recursive: true, force: true });
});

system('arguments are quoted as the specification of desktop entries says', () => {
  assert.is(quoteForDesktop('plain'), '"plain"');
  assert.is(quoteForDesktop('a "b" $c'), String.raw`"a \\"b\\" \\$c"`);
  assert.is(quoteForDesktop('back\\slash'), String.raw`"back\\\\slash"`);
  assert.is(quoteForDesktop('100%'), '"100%%"');
});

system.run();
