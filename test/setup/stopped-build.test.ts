/** Signals during a build end the compiler too: the set-up of a copied clone, with a compiler that never ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/places.js';
import { statFields } from '../support/process-tree.js';
import { until } from '../support/until.js';

let clone = '';

test.before.each(() => {
  clone = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-stopped-'));
  for (const name of ['native', 'vendor', 'package.json', 'package-lock.json', 'CMakeLists.txt']) {
    const isTool = (from: string): boolean => fs.statSync(from).isDirectory() || /\.(mjs|json|txt|cmake)$/.test(from);
    const isSource = (from: string): boolean => path.basename(from) === 'llama.cpp';
    const filter = (from: string): boolean => !isSource(from) && isTool(from);
    fs.cpSync(path.join(root, name), path.join(clone, name), { recursive: true, filter });
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(clone, 'node_modules'));
  const script = `#!/bin/sh\n[ "$1" = --version ] && exit\necho $$ > "${clone}/draft" && mv "${clone}/draft" "${clone}/compiler.pid"\nexec sleep 1000\n`;
  fs.writeFileSync(path.join(clone, 'compiler'), script, { mode: 0o755 });
});

test.after.each(() => fs.rmSync(clone, { recursive: true }));

/** The build, its compiler's process id, and its end, when all processes have closed the output. */
async function startBuild(command: string, args: readonly string[]) {
  const compiler = path.join(clone, 'compiler');
  const { npm_lifecycle_event: _, npm_execpath: __, ...others } = process.env;
  const env = { ...others, CC: compiler, CXX: compiler, CHASQUI_LLAMA_DIR: llama };
  const build = spawn(command, args, { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(build, 'close');
  let output = '';
  for (const stream of [build.stdout, build.stderr]) stream.on('data', (text) => (output += text));
  const file = path.join(clone, 'compiler.pid');
  await until(() => {
    assert.is(build.exitCode, null, output);
    return fs.existsSync(file);
  }, 'the compiler runs');
  return { build, ended, compiler: Number(fs.readFileSync(file, 'utf8')) };
}

const llama = process.env.CHASQUI_LLAMA_DIR || path.join(root, 'vendor', 'llama.cpp');

/** An ended process may still wait for its new parent to reap it. */
function isRunning(pid: number): boolean {
  try {
    return statFields(pid)[0] !== 'Z';
  } catch {
    return false;
  }
}

if (process.platform === 'linux') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`${signal} to the set-up ends the compiler, then the set-up`, async () => {
      const { build, ended, compiler } = await startBuild(process.execPath, ['native/tooling/setup.mjs']);
      build.kill(signal);
      assert.equal(await ended, [null, signal]);
      assert.not.ok(isRunning(compiler));
    });
  }

  test('SIGTERM to npm ends the compiler', async () => {
    const { build, ended, compiler } = await startBuild('npm', ['run', 'build']);
    build.kill('SIGTERM');
    await ended;
    assert.not.ok(isRunning(compiler));
  });

  test('SIGKILL to the shell of npm ends the compiler', async () => {
    const script = 'npm_lifecycle_event=build "$0" native/tooling/setup.mjs; true';
    const { build, ended, compiler } = await startBuild('sh', ['-c', script, process.execPath]);
    build.kill('SIGKILL');
    await ended;
    assert.not.ok(isRunning(compiler));
  });
}

test.run();
