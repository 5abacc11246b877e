// All layers on Vulkan compute what the CPU does, but for rounding.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compute, type Next } from './compute.js';

const test = suite('vulkan: answers');
/**
 * In logprobs. The demo model's weights are quantised, and there the CPU rounds to eight bits what it multiplies them
 * with, as Vulkan does not; the tiny one's are floats.
 */
const roundings = { demo: 0.3, tiny: 0.02 };

let cpu: ReturnType<typeof compute>;
let vulkan: ReturnType<typeof compute>;
test.before(() => {
  cpu = compute('cpu');
  vulkan = compute('vulkan');
});

test('every layer of both models is on the device, and the projectors are', () => {
  const layers = [...vulkan.log.matchAll(/offloaded (\d+)\/(\d+) layers to GPU/g)];
  assert.is(layers.length, 2, vulkan.log);
  for (const [, offloaded, all] of layers) assert.is(offloaded, all);
  assert.is([...vulkan.log.matchAll(/CLIP using Vulkan0 backend/g)].length, 2, vulkan.log);
});

const requests = ['1 token', '4 tokens', '30 tokens', 'a picture'];
for (const [model, rounding] of Object.entries(roundings)) {
  for (const request of model === 'demo' ? [...requests, '600 tokens'] : requests) {
    test(`${model}: the same comes after ${request}, for as long as no two tokens are about as likely`, () => {
      const expected = cpu.answers[model]?.[request] ?? [];
      const found = vulkan.answers[model]?.[request] ?? [];
      assert.ok(expected.length > 0);
      for (const [at, next] of expected.entries()) {
        const off = difference(next, found[at]);
        assert.ok(off < rounding, `token ${at}: off by ${off}`);
        if (found[at]?.id === next.id) continue;
        const [[, first] = [0, 0], [, second] = [0, 0]] = next.top;
        assert.ok(first - second < 2 * rounding, `token ${at} differs, and was clear`);
        return;
      }
    });
  }
}

/** The largest between the logprobs of the tokens that both name. */
function difference(expected: Next, found: Next | undefined): number {
  const other = new Map(found?.top);
  const shared = expected.top.filter(([id]) => other.has(id));
  assert.ok(shared.length >= 12, `${shared.length} of the likeliest 20 are the same`);
  return Math.max(...shared.map(([id, logprob]) => Math.abs(logprob - (other.get(id) ?? 0))));
}

test.run();
