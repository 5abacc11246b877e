import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyLimits } from '../../../../ts/cloud/gateway/key-limits.js';
import type { ChasquiError } from '../../../../ts/errors.js';
import { cloudKey } from '../../../support/gateway.js';

const test = suite('cloud: limits of keys');

function limitsAt() {
  const clock = { now: 5_000_000 };
  return { clock, limits: new KeyLimits(() => clock.now) };
}

function refusalOf(limits: KeyLimits, key: ReturnType<typeof cloudKey>): ChasquiError {
  try {
    limits.admit(key);
  } catch (error) {
    return error as ChasquiError;
  }
  throw new Error('It was let in.');
}

test('requests come back one by one, and the refusal says when', () => {
  const { clock, limits } = limitsAt();
  const key = cloudKey({ limits: { requestsPerMinute: 6 } });
  for (let number = 5; number >= 0; number--) {
    assert.is(limits.admit(key).headers['x-ratelimit-remaining-requests'], String(number));
  }
  assert.is(refusalOf(limits, key).retryAfterSeconds, 10);
  clock.now += 9_000;
  assert.is(refusalOf(limits, key).retryAfterSeconds, 1);
  clock.now += 1_000;
  limits.admit(key);
  assert.is(refusalOf(limits, key).retryAfterSeconds, 10);
  clock.now += 3_600_000;
  assert.is(limits.admit(key).headers['x-ratelimit-remaining-requests'], '5');
});

test('tokens are taken afterwards, and what was taken too much is waited for', () => {
  const { clock, limits } = limitsAt();
  const key = cloudKey({ limits: { tokensPerMinute: 600 } });
  const [one, other] = [limits.admit(key), limits.admit(key)];
  one.end(500);
  assert.is(limits.admit(key).headers['x-ratelimit-remaining-tokens'], '100');
  other.end(700);
  assert.is(refusalOf(limits, key).retryAfterSeconds, 61);
  clock.now += 61_000;
  const { headers } = limits.admit(key);
  assert.equal(
    [headers['x-ratelimit-limit-tokens'], headers['x-ratelimit-remaining-tokens'], headers['x-ratelimit-reset-tokens']],
    ['600', '10', '59.000s'],
  );
});

test('tokens are reserved before a request is computed, and the debt is at most those of a minute', () => {
  const { clock, limits } = limitsAt();
  const key = cloudKey({ limits: { tokensPerMinute: 100 } });
  const all = Array.from({ length: 6 }, () => limits.admit(key));
  all[0]?.reserve(() => 500);
  for (const other of all.slice(1)) assert.throws(() => other.reserve(() => 500), /100 tokens per minute/);
  all[0]?.end(3000);
  for (const other of all.slice(1)) other.end(0);
  assert.is(refusalOf(limits, key).retryAfterSeconds, 61);
  clock.now += 61_000;
  const next = limits.admit(key);
  next.reserve(() => 1);
  next.end(0);
  assert.is(limits.admit(key).headers['x-ratelimit-remaining-tokens'], '1');
});

test('requests at once are let in again when one is over; another key has its own', () => {
  const { limits } = limitsAt();
  const key = cloudKey({ limits: { concurrency: 2 } });
  const first = limits.admit(key);
  limits.admit(key);
  assert.is(refusalOf(limits, key).code, 'rate_limit_exceeded');
  limits.admit(cloudKey({ id: 'k2', limits: { concurrency: 2 } }));
  first.end(0);
  limits.admit(key);
  assert.is(refusalOf(limits, key).retryAfterSeconds, 1);
});

test('a refused request takes nothing', () => {
  const { limits } = limitsAt();
  const key = cloudKey({ limits: { concurrency: 1, requestsPerMinute: 2 } });
  const first = limits.admit(key);
  for (let number = 0; number < 5; number++) refusalOf(limits, key);
  first.end(0);
  assert.is(limits.admit(key).headers['x-ratelimit-remaining-requests'], '0');
});

test('a limit that is changed counts from then on', () => {
  const { limits } = limitsAt();
  limits.admit(cloudKey({ limits: { requestsPerMinute: 1 } }));
  refusalOf(limits, cloudKey({ limits: { requestsPerMinute: 1 } }));
  assert.is(
    limits.admit(cloudKey({ limits: { requestsPerMinute: 3 } })).headers['x-ratelimit-remaining-requests'],
    '2',
  );
  assert.equal(limits.admit(cloudKey()).headers, {});
});

test('keys that are idle are forgotten; those with a debt are not', () => {
  const { clock, limits } = limitsAt();
  const debtor = cloudKey({ id: 'debtor', limits: { tokensPerMinute: 1 } });
  limits.admit(debtor).end(100_000);
  for (let number = 0; number < 25_000; number++) limits.admit(cloudKey({ id: `k${number}` })).end(1);
  clock.now += 1000;
  assert.is(refusalOf(limits, debtor).code, 'rate_limit_exceeded');
});

test.run();
