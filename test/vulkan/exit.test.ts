// However a process ends while Vulkan computes, it ends by itself.
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runWith } from './compute.js';

const test = suite('vulkan: exit');
const script = fileURLToPath(new URL('ending.ts', import.meta.url));
const codes = { close: 0, exit: 7, throw: 1, signal: 0, worker: 0 };

for (const [ending, code] of Object.entries(codes)) {
  test(`by ${ending}`, () => {
    const { status, signal, stderr } = runWith('vulkan', script, ending);
    assert.equal({ status, signal }, { status: code, signal: null }, stderr);
    assert.not.match(stderr, /GGML_ASSERT|terminate called|Segmentation/);
  });
}

test.run();
