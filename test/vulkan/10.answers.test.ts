// All layers on Vulkan compute what the CPU does, but for rounding.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answers, compute, type Next } from './compute.js';

const test = suite('vulkan: answers');
/**
 * In logprobs. The demo model's weights are quantised, and there the CPU rounds to eight bits what it multiplies them
 * with, as Vulkan does not; the tiny one's are floats.
 */
const roundings = { demo: 0.3, tiny: 0.02 };

let cpu: Answers;
let vulkan: Answers;
test.before(() => {
  cpu = compute('cpu');
  vulkan = compute('vulkan');
});

for (const [model, rounding] of Object.entries(roundings)) {
  for (const request of ['1 token', '4 tokens', '30 tokens', '600 tokens', 'a picture']) {
    test(`${model}: the same comes after ${request}, for as long as no two tokens are about as likely`, () => {
      const expected = cpu[model]?.[request] ?? [];
      const found = vulkan[model]?.[request] ?? [];
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
