import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = path.join(import.meta.dirname, '..', '..');

interface CxxTests {
  /** The CMake target, and the folder it is built in. */
  target: string;
  build: string;
  /** The program, relative to that folder. */
  executable: string;
  /** Arguments of `cmake` that set the folder up; without them it is there already. */
  configure?: string[];
  /** The command that runs programs for another processor. */
  emulator?: readonly string[];
}

/** Builds a C++ test program and runs it; each of its lines `ok name` and `not ok name` becomes a test of uvu's. */
export function runCxxTests({ target, build, executable, configure, emulator = [] }: CxxTests): void {
  if (configure) cmake('-S', root, '-B', build, ...configure);
  buildTarget(target, build);
  const [program = '', ...args] = [...emulator, path.join(root, build, executable)];
  const result = run(program, args);

  for (const line of result.stdout.split(/\r?\n/)) {
    const [, failed, text = ''] = /^(not )?ok (.*)$/.exec(line) ?? [];
    if (text) test(text, () => assert.not.ok(failed, text));
  }
  test(`${target} ends by itself`, () => {
    const end = result.signal ? `signal ${result.signal}` : `exit code ${result.status}`;
    assert.ok(!result.signal && (result.status === 0 || result.status === 1), `${end}: ${result.stderr}`);
  });
  test.run();
}

export function buildTarget(target: string, build: string): void {
  cmake('--build', build, '--target', target, '--config', 'Release', '--parallel');
}

function run(command: string, args: string[]) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
}

function cmake(...args: string[]) {
  const result = run('cmake', args);
  if (result.status !== 0) throw new Error(`cmake ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`);
}
