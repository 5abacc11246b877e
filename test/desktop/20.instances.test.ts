// One app per data folder, after any end of the previous one, and with occupied ports.
import { existsSync, readFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli } from '../support/child.js';
import {
  desktopFolder,
  desktopVariables,
  type RunningDesktop,
  removeFolder,
  startDesktop,
} from '../support/start-desktop.js';

const instances = suite('one app for each folder');
const folder = desktopFolder();
let app: RunningDesktop | undefined;

instances.after(async () => {
  if (app?.child.process.exitCode === null) await app.kill();
  removeFolder(folder);
});

async function secondStart(
  args: readonly string[] = [],
): Promise<{ code: number | null; url: string; stderr: string }> {
  const { code, stdout, stderr } = await runCli(['desktop', '--no-open', '--json', ...args], desktopVariables(folder));
  return { code, url: stdout === '' ? '' : JSON.parse(stdout.trim().split('\n').at(-1) ?? '').url, stderr };
}

instances('a second start shows the first', async () => {
  app = await startDesktop([], { folder });
  const second = await secondStart(['--app-port', '0']);
  assert.is(second.code, 0, second.stderr);
  assert.is(second.url, `${app.url}/?token=${app.token}`);
  assert.is(app.child.process.exitCode, null);
});

instances('two starts at the same moment become one', async () => {
  await app?.stop();
  const starts = [startDesktop([], { folder }), startDesktop([], { folder })];
  const [one, other] = (await Promise.all(starts)) as [RunningDesktop, RunningDesktop];
  assert.is(one.url, other.url);
  const { pid } = JSON.parse(readFileSync(path.join(folder, 'desktop.json'), 'utf8'));
  app = one.child.process.pid === pid ? one : other;
  const shown = app === one ? other : one;
  assert.equal(await shown.child.exited, { code: 0, signal: null });
  assert.is(app.child.process.pid, pid);
});

instances('without a window its address, with the token, is the last line', async () => {
  const { stdout } = await runCli(['desktop', '--no-open'], desktopVariables(folder));
  assert.is(stdout.trim().split('\n').at(-1), `${app?.url}/?token=${app?.token}`);
});

instances('after a kill the next start takes over, with the same token and settings', async () => {
  const before = app as RunningDesktop;
  await before.done('PUT', '/api/v1/settings', { theme: 'dark', ttl: 60 });
  await before.kill();
  assert.ok(existsSync(path.join(folder, 'desktop.json')));
  app = await startDesktop([], { folder });
  assert.is(app.token, before.token);
  const settings = await app.done('GET', '/api/v1/settings');
  assert.is(settings.theme, 'dark');
  assert.is(settings.ttl, 60);
});

instances('Quit ends the process and removes its address file', async () => {
  const { status } = await (app as RunningDesktop).api('POST', '/api/v1/quit');
  assert.is(status, 202);
  assert.equal(await app?.child.exited, { code: 0, signal: null });
  assert.not.ok(existsSync(path.join(folder, 'desktop.json')));
});

instances('where the app port is taken, another is found, and a port that was asked for is named', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  try {
    const refused = await secondStart(['--app-port', String(port)]);
    assert.is(refused.code, 1);
    assert.match(refused.stderr, new RegExp(`port ${port}`));
  } finally {
    other.close();
  }
});

instances.run();
