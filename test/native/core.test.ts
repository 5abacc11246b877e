// Builds the C++ tests of native/core, without llama.cpp and Node, and runs them: each becomes one test here.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = path.join(import.meta.dirname, '..', '..');
const build = path.join(root, 'build', 'core-tests');

function run(command: string, args: string[]) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
}

function cmake(...args: string[]) {
  const result = run('cmake', args);
  if (result.status !== 0) throw new Error(`cmake ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`);
}

cmake('-S', root, '-B', build, '-DCHASQUI_CORE_ONLY=ON', '-DCHASQUI_TESTS=ON', '-DCMAKE_BUILD_TYPE=RelWithDebInfo');
cmake('--build', build, '--config', 'RelWithDebInfo', '--parallel');
const result = run(path.join(build, 'core-tests'), []);

for (const line of result.stdout.split(/\r?\n/)) {
  const [, failed, text = ''] = /^(not )?ok (.*)$/.exec(line) ?? [];
  if (text) test(text, () => assert.not.ok(failed, text));
}

test('the test program ends by itself', () => {
  const end = result.signal ? `signal ${result.signal}` : `exit code ${result.status}`;
  assert.ok(!result.signal && (result.status === 0 || result.status === 1), `${end}: ${result.stderr}`);
});

test.run();
