// Every way to get at chasqui from a program, and two versions of it in one process.
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { copyInstallation, install, nativeFolder, run } from './installation.js';

const test = suite('packages: import');

const generate = `
async function generate({ loadModel }, model = 'node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf') {
  const loaded = await loadModel(model, { parallel: 1 });
  let text = '';
  const messages = [{ role: 'user', content: 'Hello!' }];
  for await (const token of loaded.generate({ messages, temperature: 0, maxTokens: 20 })) text += token.text;
  await loaded.close();
  return text;
}
`;

/** Runs a program in an installation; what it prints. */
function answerOf(folder: string, file: string, program: string, ...options: string[]): string {
  writeFileSync(join(folder, file), generate + program);
  const { status, signal, stdout, stderr } = run(folder, ...options, file);
  assert.equal({ status, signal }, { status: 0, signal: null }, stderr);
  assert.ok(stdout.trim().length > 0, stderr);
  return stdout.trim();
}

const esm = `import * as chasqui from 'chasqui';\nconsole.log(await generate(chasqui));`;

test('import', () => {
  answerOf(install(), 'program.mjs', esm);
});

test('require gives the same answer', () => {
  const expected = answerOf(install(), 'program.mjs', esm);
  assert.is(answerOf(install(), 'program.cjs', `generate(require('chasqui')).then(console.log);`), expected);
});

test('inside a worker thread', () => {
  const expected = answerOf(install(), 'program.mjs', esm);
  const program = `
    const { Worker, isMainThread, parentPort } = require('node:worker_threads');
    if (isMainThread) new Worker(__filename).on('message', console.log);
    else generate(require('chasqui')).then((text) => parentPort.postMessage(text));`;
  assert.is(answerOf(install(), 'worker.cjs', program), expected);
});

test('the demo model and the manifest are exports', () => {
  const expected = answerOf(install(), 'program.mjs', esm);
  const program = `
    import { createRequire } from 'node:module';
    import { fileURLToPath } from 'node:url';
    import * as chasqui from 'chasqui';
    const { name } = createRequire(import.meta.url)('chasqui/package.json');
    if (name !== 'chasqui') throw new Error(name);
    console.log(await generate(chasqui, fileURLToPath(import.meta.resolve('chasqui/demo.gguf'))));`;
  assert.is(answerOf(install(), 'exports.mjs', program), expected);
});

for (const format of ['cjs', 'esm'] as const) {
  test(`a bundle made by esbuild as ${format}, with chasqui external`, async () => {
    const folder = install();
    const expected = answerOf(folder, 'program.mjs', esm);
    const outfile = join(folder, `bundle.${format === 'cjs' ? 'cjs' : 'mjs'}`);
    const source = `${generate}import * as chasqui from 'chasqui';\ngenerate(chasqui).then(console.log);`;
    const stdin = { contents: source, resolveDir: folder };
    await esbuild.build({ stdin, outfile, format, bundle: true, platform: 'node', external: ['chasqui'] });
    const { status, stdout, stderr } = run(folder, outfile);
    assert.is(status, 0, stderr);
    assert.is(stdout.trim(), expected);
  });
}

test('two versions in one process use their own libraries', () => {
  const folder = copyInstallation('two versions');
  installOther(folder, '9.9.9');
  const program = `
    import * as one from 'chasqui';
    import * as other from 'chasqui-other';
    import { readFileSync } from 'node:fs';
    const answers = [await generate(one), await generate(other)];
    const maps = readFileSync('/proc/self/maps', 'utf8');
    const libraries = new Set(maps.match(/libggml-(base-)?chasqui-[\\d.]+\\.so/g));
    const modules = new Set(maps.match(/\\S+(?=\\/libggml-cpu-)/g));
    console.log(JSON.stringify({ answers, libraries: [...libraries].sort(), modules: modules.size }));`;
  const { answers, libraries, modules } = JSON.parse(answerOf(folder, 'program.mjs', program));
  assert.is(answers[0], answers[1]);
  assert.is(libraries.length, 4, libraries.join(', '));
  assert.is(modules, 2);
});

/**
 * Simulates the build of another version, with its version in all library names. The names have equal length, so the
 * files can be edited in place.
 */
function installOther(folder: string, version: string): void {
  const modules = join(folder, 'node_modules');
  const manifest = join(modules, 'chasqui', 'package.json');
  const own = JSON.parse(readFileSync(manifest, 'utf8')).version as string;
  assert.is(own.length, version.length);
  const platform = nativeFolder(folder);
  const other = join(modules, 'chasqui-other');
  cpSync(join(modules, 'chasqui'), other, { recursive: true });
  writeFileSync(join(other, 'package.json'), readFileSync(manifest, 'utf8').replaceAll(own, version));
  const inside = join(other, 'node_modules', '@chasqui', 'linux-x64');
  cpSync(join(platform, '..', '..'), inside, { recursive: true });
  const packageFile = join(inside, 'package.json');
  writeFileSync(packageFile, readFileSync(packageFile, 'utf8').replaceAll(own, version));
  const libraries = join(inside, 'prebuilds', 'linux-x64');
  for (const name of readdirSync(libraries)) {
    const file = join(libraries, name);
    const text = readFileSync(file, 'latin1').replaceAll(`chasqui-${own}.so`, `chasqui-${version}.so`);
    writeFileSync(file, text, 'latin1');
    if (name.includes(`-${own}.so`)) renameSync(file, join(libraries, name.replace(own, version)));
  }
}

test('a package of the platform in another version is refused', () => {
  const folder = copyInstallation('mixed versions');
  const file = join(nativeFolder(folder), '..', '..', 'package.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'));
  rmSync(join(folder, 'package-lock.json'));
  const program = `import('chasqui').then((chasqui) => chasqui.loadModel('x.gguf')).catch((error) => console.log(error.message));`;
  assert.match(run(folder, '-e', program).stdout, /it is version 9\.9\.9, and this is chasqui \d/);
});

test.run();
