// Modules of all variants that ggml builds are found.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
// @ts-expect-error: plain JavaScript, because it runs before TypeScript is installed
import { listVariants } from '../../../native/tooling/cpu-variants.mjs';
import { findModules } from '../../../ts/native/module-files.js';
import { root } from '../../support/places.js';

const test = suite('native: module files');
const cmake = fs.readFileSync(path.join(root, 'vendor', 'llama.cpp', 'ggml', 'src', 'CMakeLists.txt'), 'utf8');

for (const arch of ['x64', 'arm64'] as const) {
  test(`every CPU module for ${arch} is found, by its name`, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-modules-'));
    const names = listVariants(cmake, arch).map(({ name }: { name: string }) => `cpu-${name}`);
    assert.ok(names.length > 5);
    for (const name of names) fs.writeFileSync(path.join(folder, `libggml-${name}.so`), '');
    const found = findModules([folder]).map(({ name }) => name);
    fs.rmSync(folder, { recursive: true });
    assert.equal(found.sort(), names.sort());
  });
}

test.run();
