// Tests of the tier `model` with every layer on Vulkan. Left out are those with batches of many shapes, long prompts, or
// the pictures of the demo model's own projector: llvmpipe compiles a kernel for each shape, and one can take it a minute,
// or more than ten where the CPU lacks AVX-512. Pictures on the device are in `same-as-cpu.test.ts`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runWith } from './compute.js';

const test = suite('vulkan: model');

for (const file of ['loading', 'closing']) {
  test(file, () => {
    const { status, stdout, stderr } = runWith('vulkan', 'node_modules/uvu/bin.js', 'test/model', file, '--no-color');
    assert.is(status, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /Skipped: +0/);
  });
}

test.run();
