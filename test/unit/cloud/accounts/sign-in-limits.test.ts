import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { networkOf, SignInLimits, TryCounter } from '../../../../ts/cloud/accounts/sign-in-limits.js';

test('after a burst tries come back one by one', () => {
  let now = 0;
  const counter = new TryCounter({ burst: 3, perMinute: 2, maxEntries: 10 }, () => now);
  assert.equal(
    Array.from({ length: 4 }, () => counter.take('a')),
    [0, 0, 0, 30],
  );
  assert.is(counter.take('b'), 0);
  now += 29_000;
  assert.is(counter.take('a'), 1);
  now += 1000;
  assert.equal([counter.take('a'), counter.take('a')], [0, 30]);
  counter.forget('a');
  assert.is(counter.take('a'), 0);
});

test('memory is bounded: new ones wait while all entries are in use, and old ones are forgotten', () => {
  let now = 0;
  const counter = new TryCounter({ burst: 2, perMinute: 1, maxEntries: 100 }, () => now);
  for (let i = 0; i < 100; i++) counter.take(`a${i}`);
  assert.ok(counter.take('one more') > 0);
  assert.is(counter.size, 100);
  assert.equal([counter.take('a7'), counter.take('a7') > 0], [0, true]);
  now += 60_000;
  assert.is(counter.take('one more'), 0);
  assert.is(counter.size, 2);
});

test('from many addresses one person’s password can be tried no more often, known or not', () => {
  for (const isKnown of [true, false]) {
    const limits = new SignInLimits(() => 0);
    const allowed = Array.from({ length: 500 }, (_, i) => limits.take(`10.0.${i >> 8}.${i & 255}`, 'owner', isKnown));
    assert.is(allowed.filter((wait) => wait === 0).length, 20);
    // Other accounts are not affected.
    assert.is(limits.take('10.1.0.1', 'other', true), 0);
  }
});

test('from one address few people’s passwords can be tried', () => {
  const limits = new SignInLimits(() => 0);
  const allowed = Array.from({ length: 100 }, (_, i) => limits.take('10.0.0.1', `name ${i}`, false));
  assert.is(allowed.filter((wait) => wait === 0).length, 10);
});

test('where a person signed in lately, that person has tries that nobody elsewhere can use up', () => {
  let now = 0;
  const limits = new SignInLimits(() => now);
  limits.succeeded('10.0.0.1', 'Owner');
  now += 24 * 3_600_000;
  // As many addresses as are counted, and with them all tries that there are for the person.
  for (let i = 0; i < 20_000; i++) limits.take(`2001:db8:${i.toString(16)}::1`, 'owner', true);
  assert.ok(limits.take('10.9.9.9', 'owner', true) > 0);
  const tries = () => Array.from({ length: 30 }, () => limits.take('10.0.0.1', 'owner', true));
  assert.is(tries().filter((wait) => wait === 0).length, 10);
  limits.succeeded('10.0.0.1', 'owner');
  assert.is(tries().filter((wait) => wait === 0).length, 10);
  // The owner has signed in, so other addresses have no attempts left for this account.
  assert.ok(limits.take('2001:db8:1::1', 'owner', true) > 0);
  assert.ok(limits.take('10.0.0.1', 'other', true) > 0);
});

test('the networks where a person signed in are few', () => {
  const limits = new SignInLimits(() => 0);
  for (let i = 0; i < 30; i++) limits.succeeded(`10.0.0.${i}`, 'owner');
  for (let i = 0; i < 20; i++) limits.take(`10.1.0.${i}`, 'owner', true);
  const allowed = Array.from({ length: 30 }, (_, i) => limits.take(`10.0.0.${i}`, 'owner', true) === 0);
  assert.equal(
    allowed.flatMap((is, i) => (is ? [i] : [])),
    [22, 23, 24, 25, 26, 27, 28, 29],
  );
});

test('addresses of one network count as one', () => {
  assert.is(networkOf('10.0.0.1'), '10.0.0.1');
  assert.is(networkOf('::ffff:10.0.0.1'), '10.0.0.1');
  assert.is(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2');
  assert.is(networkOf('2001:db8:1:2::9'), '2001:db8:1:2');
  assert.is(networkOf('2001:db8::9'), '2001:db8:0:0');
  assert.is(networkOf('::1'), '0:0:0:0');
  assert.is(networkOf('fe80::1%eth0'), 'fe80:0:0:0');
});

test.run();
