// The first steps of a user without compilers: install, serve, send a request.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ask } from './ask.js';
import { writeBadModule } from './bad-modules.js';
import {
  copyInstallation,
  install,
  installInto,
  nativeFolder,
  pack,
  run,
  runChasqui,
  scratch,
} from './installation.js';

const test = suite('packages: install');

test('npm install, then serve: the demo model answers, from a path with spaces', async () => {
  assert.ok((await ask(install())).length > 0);
});

test('the same with --ignore-scripts', async () => {
  const folder = installInto('without scripts', ['npm', 'install', '--ignore-scripts', '--prefer-offline', ...pack()]);
  assert.ok((await ask(folder)).length > 0);
});

test('the same with pnpm', async () => {
  const pnpm = installInto('pnpm itself', ['npm', 'install', '--prefer-offline', '--ignore-scripts', 'pnpm@10']);
  const script = join(pnpm, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs');
  const folder = installInto('with pnpm', [process.execPath, script, 'add', ...pack()]);
  assert.ok((await ask(folder)).length > 0);
});

test('the same from a node_modules that may not be written to', async () => {
  const folder = copyInstallation('read-only');
  setWritable(folder, false);
  const before = listFiles(folder);
  try {
    assert.ok((await ask(folder)).length > 0);
    // The administrator's account may write anyway; it must not.
    assert.equal(listFiles(folder), before);
  } finally {
    setWritable(folder, true);
  }
});

function listFiles(folder: string): string[] {
  const names = (readdirSync(folder, { recursive: true }) as string[]).sort();
  return names.map((name) => `${name} ${lstatSync(join(folder, name)).mtimeMs}`);
}

function setWritable(folder: string, writable: boolean): void {
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    if (!name.includes('.bin')) chmodSync(join(folder, name), writable ? 0o755 : 0o555);
  }
}

test('in an ASAR archive of Electron, native code opens the unpacked copies', () => {
  const folder = join(scratch, 'resources');
  const archive = join(folder, 'app.asar');
  cpSync(install(), archive, { recursive: true, verbatimSymlinks: true });
  for (const name of ['chasqui', '@chasqui']) {
    cpSync(join(archive, 'node_modules', name), join(folder, 'app.asar.unpacked', 'node_modules', name), {
      recursive: true,
    });
  }
  // What only Electron's JavaScript can read.
  for (const name of readdirSync(archive, { recursive: true }) as string[]) {
    if (/chasqui.*\.(node|so|gguf)$/.test(name)) writeFileSync(join(archive, name), '');
  }
  const program = `import { loadModel } from 'chasqui';
    for (const process of [false, true]) {
      const model = await loadModel('demo', { process });
      console.log(await model.generate({ prompt: 'Hello', maxTokens: 4 }).text() !== '');
      await model.close();
    }`;
  writeFileSync(join(archive, 'main.mjs'), program);
  const { stdout, stderr } = run(archive, 'main.mjs');
  assert.is(stdout, 'true\ntrue\n', stderr);
});

test('doctor names the package, the modules and the choice; --json says the same', () => {
  const text = runChasqui(install(), 'doctor');
  assert.is(text.status, 0, text.stderr);
  assert.match(text.stdout, /@chasqui\/linux-x64 \d/);
  assert.match(text.stdout, /^Chosen: cpu-/m);
  const json = JSON.parse(runChasqui(install(), 'doctor', '--json').stdout);
  assert.is(json.chosen.length, 1);
  assert.ok(text.stdout.includes(`Chosen: ${json.chosen[0]}. ${json.because}`));
});

test('bad modules are reported by doctor and never reach the server', async () => {
  const folder = copyInstallation('with bad modules');
  for (const fault of ['crash', 'wrong', 'other-version'] as const) writeBadModule(nativeFolder(folder), fault);
  const { modules, chosen } = JSON.parse(runChasqui(folder, 'doctor', '--json').stdout);
  const failed = modules.filter(({ verdict }: { verdict: string }) => verdict === 'failed');
  assert.equal(failed.map(({ name }: { name: string }) => name).sort(), [
    'cpu-crash',
    'cpu-other_version',
    'cpu-wrong',
  ]);
  assert.not.ok(failed.some(({ name }: { name: string }) => chosen.includes(name)));
  assert.ok((await ask(folder)).length > 0);
});

test('without the package of the platform, five lines say what to do', () => {
  const folder = installInto('without a platform', [
    'npm',
    'install',
    '--prefer-offline',
    '--omit=optional',
    mainTarball(),
  ]);
  const program = `import('chasqui').then(({ loadModel }) => loadModel('x.gguf')).catch((error) => {
    console.log(error.code); console.log(error.message); });`;
  const { stdout } = run(folder, '-e', program);
  const [code, ...lines] = stdout.trim().split('\n');
  assert.is(code, 'addon_missing');
  assert.is(lines.length, 5);
  assert.match(stdout, /@chasqui\/linux-x64: it is not installed/);
  assert.match(stdout, /npm install @chasqui\/linux-x64@\d/);

  const doctor = runChasqui(folder, 'doctor');
  assert.is(doctor.status, 1);
  assert.ok(lines.every((line) => doctor.stdout.includes(line)));
});

test('build says what is missing before it begins', () => {
  const { status, stderr } = runChasqui(install(), 'build');
  assert.is(status, 1);
  assert.match(stderr, /npm install --save-dev cmake-js@8 node-addon-api@8/);
});

test('a GPU backend that is not there is an error that says so', () => {
  const { status, stderr } = runChasqui(install(), 'serve', '--port', '0', '--backend', 'cuda');
  assert.is(status, 1);
  assert.match(stderr, /backend cuda cannot be used here: there is no module for it/);
});

test('nothing is run at installation', () => {
  for (const tarball of pack()) {
    const { stdout } = spawnSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
    assert.is(JSON.parse(stdout).scripts, undefined);
  }
});

function mainTarball(): string {
  return pack().find((file) => !file.includes('linux')) ?? '';
}

test.run();
