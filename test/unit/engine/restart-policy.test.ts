// How long an engine that ended waits before it is started again, and when it is not.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RestartPolicy } from '../../../ts/engine/child/restart-policy.js';

const test = suite('unit: restart policy');

const MINUTE = 60_000;
/** In the middle of the jitter. */
const plain = () => new RestartPolicy(() => 0.5);

function delays(policy: RestartPolicy, times: readonly number[]): (number | null)[] {
  return times.map((at) => policy.delayAfterFailure(at));
}

test('at once, then after longer and longer, and after five ends in ten minutes no more', () => {
  assert.equal(delays(plain(), [0, 1, 2, 3, 4]), [0, 1000, 2000, 4000, null]);
});

test('ends that are ten minutes old count no more', () => {
  assert.equal(delays(plain(), [0, 9 * MINUTE, 10 * MINUTE, 19 * MINUTE]), [0, 1000, 1000, 1000]);
  assert.equal(
    delays(
      plain(),
      Array.from({ length: 20 }, (_, at) => at * 3 * MINUTE),
    ).slice(4),
    Array(16).fill(4000),
  );
});

test('delays differ by a fifth at most', () => {
  for (const [drawn, delay] of [
    [0, 800],
    [0.5, 1000],
    [1, 1200],
  ] as const) {
    assert.equal(delays(new RestartPolicy(() => drawn), [0, 0]), [0, delay]);
  }
});

test('forgotten failures do not count', () => {
  const policy = plain();
  delays(policy, [0, 0, 0, 0, 0]);
  policy.forget();
  assert.equal(delays(policy, [0, 0]), [0, 1000]);
});

test.run();
