// The installers for Linux, in a Debian without Node: installed, used by an account without rights, and removed.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Podman } from '../../ts/cloud/runners/podman.js';
import { pack } from '../packages/installation.js';
import { startCommand, untilWritten } from '../support/child.js';
import { podman } from '../support/container-image.js';
import { root } from '../support/places.js';

const test = suite('containers: installers');
const DEBIAN = 'localhost/chasqui-debian';
const CONTAINER = `chasqui-installers-${process.pid}`;
const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const deb = `/installers/chasqui_${version}_amd64.deb`;
/** CHASQUI_TEST_INSTALLERS names existing ones, to repeat a test without packing them. */
const given = process.env.CHASQUI_TEST_INSTALLERS;
const out = given ?? fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-installers-'));
let filesBefore: string;

test.before(() => {
  if (given === undefined) packInstallers();
  // Podman's own limits may exceed those of this process.
  const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
  const place = ['--network=none', '--log-driver=none', `--volume=${out}:/installers:ro`, `--name=${CONTAINER}`];
  podman('run', '--detach', '--init', ...limits, ...place, DEBIAN, 'sleep', 'infinity');
  asRoot('useradd', '--create-home', 'ada');
  filesBefore = systemFiles();
});
test.after(() => {
  podman('rm', '--force', '--time=0', CONTAINER);
  if (given === undefined) fs.rmSync(out, { recursive: true });
});

function packInstallers(): void {
  const packages = path.dirname(pack()[0] ?? '');
  const script = path.join(root, 'native', 'tooling', 'installers', 'pack-installers.mjs');
  const args = [script, '--packages', packages, '--out', out, '--level', '0'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.is(status, 0, stdout + stderr);
}

const asRoot = (...command: string[]) => podman('exec', CONTAINER, ...command);
const asUser = (...command: string[]) => podman('exec', '--user=ada', '--workdir=/home/ada', CONTAINER, ...command);

/** Without the records of dpkg and its log. */
function systemFiles(): string {
  const skipped = ['/proc', '/sys', '/dev', '/home', '/tmp', '/installers', '/var/lib/dpkg', '/var/log/dpkg.log'];
  return asRoot('sh', '-c', `find / ${skipped.map((folder) => `-path ${folder} -prune -o`).join(' ')} -print | sort`);
}

/** The container has no xz. */
function unpackArchive(folder: string): void {
  const archive = path.join(out, `chasqui-${version}-linux-x64.tar.xz`);
  const tar = [...new Podman().command, 'exec', '--interactive', CONTAINER, 'tar', '-x', '-C', folder];
  const { status, stderr } = spawnSync('sh', ['-c', 'xz -dc "$0" | "$@"', archive, ...tar], { encoding: 'utf8' });
  assert.is(status, 0, stderr);
}

/** Asks the demo model with the given Node.js, because the container has no curl. */
function ask(node: string, port: number): string {
  const body = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Count from 3 to 6.' }], temperature: 0 };
  const script = `const reply = await fetch('http://127.0.0.1:${port}/v1/chat/completions', { method: 'POST',
    headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(body))} });
    console.log((await reply.json()).choices[0].message.content);`;
  return asUser(node, '--input-type=module', '--eval', script);
}

test('the .deb installs where there is no Node', () => {
  assert.is(asRoot('sh', '-c', 'command -v node || echo none'), 'none');
  asRoot('dpkg', '--install', deb);
  assert.ok(asUser('chasqui', '--version').includes(version));
  assert.is(asUser('sh', '-c', 'find /usr/lib/chasqui ! -user root -o -perm /022 ! -type l'), '');
});

test('the menu has an entry with an icon', () => {
  const entry = asRoot('cat', '/usr/share/applications/chasqui.desktop');
  assert.match(entry, /^Exec="\/usr\/bin\/chasqui" "desktop"$/m);
  assert.match(entry, /^Icon=chasqui$/m);
  assert.match(asRoot('cat', '/usr/share/icons/hicolor/scalable/apps/chasqui.svg'), /<svg/);
});

test('`chasqui serve` answers', () => {
  asUser('chasqui', 'serve', '--port', '8080', '--background');
  assert.match(ask('/usr/lib/chasqui/bin/node', 8080), /3, 4, 5, 6/);
  asUser('chasqui', 'stop');
});

test('`chasqui desktop` answers on port 1234', async () => {
  const [program, ...options] = new Podman().command;
  const command = ['exec', '--user=ada', CONTAINER, 'chasqui', 'desktop', '--no-open', '--json', '--start-server'];
  const app = startCommand(program, [...options, ...command], {});
  await untilWritten(app, /^\{.*"url".*\}$/m);
  assert.match(ask('/usr/lib/chasqui/bin/node', 1234), /3, 4, 5, 6/);
  asUser('chasqui', 'stop');
  assert.equal(await app.exited, { code: 0, signal: null }, app.output.stderr);
});

test('removal leaves the data of the user and nothing else', () => {
  asRoot('dpkg', '--remove', 'chasqui');
  assert.is(systemFiles(), filesBefore);
  assert.is(asUser('sh', '-c', 'command -v chasqui || echo none'), 'none');
  assert.ok(asUser('ls', '-A').length > 0);
});

test('the archive runs from any folder', () => {
  const folder = '/home/ada/My programs';
  asUser('mkdir', folder);
  unpackArchive(folder);
  const unpacked = `${folder}/chasqui-${version}-linux-x64`;
  asUser('ln', '-s', `${unpacked}/bin/chasqui`, '/home/ada/command');
  assert.ok(asUser('/home/ada/command', '--version').includes(version));
  asUser('/home/ada/command', 'serve', '--port', '8081', '--background');
  assert.match(ask(`${unpacked}/bin/node`, 8081), /3, 4, 5, 6/);
  asUser('/home/ada/command', 'stop');
});

test.run();
