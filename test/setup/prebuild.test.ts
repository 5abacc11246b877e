import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = path.join(import.meta.dirname, '..', '..');
let folder = '';

test.before.each(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-prebuild-'));
});

test.after.each(() => fs.rmSync(folder, { recursive: true }));

/** Runs the prebuild with this ninja as the only program in PATH. */
function prebuild(scripts: string, ninja: string | null): { status: number | null; stderr: string } {
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  if (ninja !== null) fs.writeFileSync(path.join(bin, 'ninja'), `#!/bin/sh\necho ${ninja}\n`, { mode: 0o755 });
  const script = path.join(scripts, 'native', 'tooling', 'prebuild.mjs');
  const args = [script, '--backend', 'cpu', '--out', folder];
  return spawnSync(process.execPath, args, { env: { PATH: bin }, encoding: 'utf8', timeout: 60_000 });
}

if (process.platform !== 'win32') {
  test('without a ninja that tells what was linked nothing is compiled', () => {
    for (const [ninja, says] of [
      [null, /ninja 1\.11 or newer, and there is none/],
      ['1.10.1', /ninja 1\.11 or newer, and this is 1\.10\.1/],
    ] as const) {
      const { status, stderr } = prebuild(root, ninja);
      assert.is(status, 1);
      assert.match(stderr, says);
      fs.rmSync(path.join(folder, 'bin'), { recursive: true });
    }
  });

  test("in a clone without npm's packages it says how to have them", () => {
    for (const scripts of ['native/tooling', 'vendor'].map((name) => ({ from: path.join(root, name), name }))) {
      fs.mkdirSync(path.join(folder, scripts.name), { recursive: true });
      for (const file of fs.readdirSync(scripts.from).filter((name) => /\.(mjs|json)$/.test(name)))
        fs.copyFileSync(path.join(scripts.from, file), path.join(folder, scripts.name, file));
    }
    const { status, stderr } = prebuild(folder, '1.11.1');
    assert.is(status, 1);
    assert.match(stderr, /^error: npm's packages are not installed: run npm ci, and then this again\n$/);
  });
}

test.run();
