// When a key ends that is made with --expires.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toExpiry } from '../../../ts/cli/options/key-options.ts';

const NOW = 1_800_000_000;

test('a time from now on, a date until its end, a moment', () => {
  assert.is(toExpiry('never', NOW), null);
  assert.is(toExpiry('12h', NOW), NOW + 12 * 3600);
  assert.is(toExpiry('2030-12-31', NOW), Date.UTC(2030, 11, 31, 23, 59, 59) / 1000);
  assert.is(toExpiry('2028-02-29', NOW), Date.UTC(2028, 1, 29, 23, 59, 59) / 1000);
  assert.is(toExpiry('2030-12-31T12:00:00+02:00', NOW), Date.UTC(2030, 11, 31, 10) / 1000);
});

test('invalid calendar days are refused', () => {
  const none = [
    '2030-02-30',
    '2027-02-29',
    '2030-04-31',
    '2030-13-01',
    '2030-00-10',
    '2030-02-30T10:00:00Z',
    '30',
    'soon',
  ];
  for (const text of none) assert.throws(() => toExpiry(text, NOW), /must be a time such as 12h/, text);
});

test.run();
