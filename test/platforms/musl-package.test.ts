// The package for Linux on x64 with musl: cross-compiled with Zig, packed, installed, and run without glibc.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installFor } from '../support/cross-package.js';
import { fillMuslRoot, findZig, muslNode } from '../support/linux-musl.js';
import { checkPackage, type NodeRun } from '../support/package-checks.js';

const test = suite('platforms: linux-x64-musl');

const CLI = 'node_modules/chasqui/dist/cli.js';
let folder = '';

function runNode(args: readonly string[]): NodeRun {
  const [command = '', ...rest] = [...muslNode(folder), ...args];
  const { status, stdout, stderr } = spawnSync(command, rest, {
    encoding: 'utf8',
    timeout: 300_000,
    env: { HOME: '/root' },
  });
  return { status, output: `${stdout}${stderr}` };
}

test.before(async () => {
  folder = installFor('linux-x64-musl', { env: { CHASQUI_ZIG: findZig() } });
  await fillMuslRoot(folder);
});

checkPackage(test, () => folder, runNode, '[0,null]');

test('a schema of the greatest depth, and a deeper one, end no process', () => {
  const nested = (depth: number) => `
    import { loadModel } from 'chasqui';
    const model = await loadModel('demo', { parallel: 1 });
    let jsonSchema = { type: 'string', maxLength: 1 };
    for (let level = 0; level < ${depth}; level++) jsonSchema = { type: 'array', items: jsonSchema, minItems: 1, maxItems: 1 };
    const messages = [{ role: 'user', content: 'Hello!' }];
    try {
      console.log(await model.generate({ messages, jsonSchema, temperature: 0, maxTokens: 300 }).text());
    } catch (error) {
      console.log(error.code);
    }
    await model.close();`;
  for (const [depth, expected] of [
    [60, '"'],
    [100_000, 'invalid_'],
  ] as const) {
    const { status, output } = runNode(['--input-type=module', '--eval', nested(depth)]);
    assert.is(status, 0, output);
    assert.match(output, expected);
  }
});

test('without the package of the platform, the error names it', () => {
  rmSync(path.join(folder, 'node_modules', '@chasqui'), { recursive: true });
  const { status, output } = runNode([CLI, 'serve', '--port', '0']);
  assert.is.not(status, 0, output);
  assert.match(output, 'could not be loaded on linux-x64-musl');
  assert.match(output, 'npm install @chasqui/linux-x64-musl@');
});

test.run();
