// When an engine is taken to hang: by what its counts say, check after check.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Watchdog } from '../../../ts/engine/child/watchdog.js';
import type { NativeStats } from '../../../ts/native/addon.js';

const test = suite('unit: watchdog');

const SECOND = 1000;
const LIMIT = 60 * SECOND;

function stats(decodeSteps: number, stepAgeMs: number): NativeStats {
  return { decodeSteps, stepAgeMs } as NativeStats;
}

/** Checks once a second for as long as a step takes; returns when it was taken to hang, in milliseconds. */
function watchStep(watchdog: Watchdog, decodeSteps: number, tookMs: number): number | null {
  for (let age = 0; age <= tookMs; age += SECOND) {
    if (watchdog.check(stats(decodeSteps, age), true, SECOND) !== null) return age;
  }
  return null;
}

/** A watchdog after the first steps. Drivers may compile kernels during those. */
function warm(stepTimeoutMs = LIMIT): Watchdog {
  const watchdog = new Watchdog(stepTimeoutMs);
  watchdog.check(stats(100, 0), true, SECOND);
  return watchdog;
}

function checkSilence(watchdog: Watchdog, seconds: number): string | null {
  for (let second = 0; second < seconds; second += 1) {
    const hangs = watchdog.check(stats(100, 0), false, SECOND);
    if (hangs !== null) return hangs;
  }
  return null;
}

test('a step that takes too long hangs, and one that is followed by others does not', () => {
  assert.is(watchStep(warm(), 100, LIMIT), null);
  assert.is(watchStep(warm(), 100, 10 * LIMIT), LIMIT + SECOND);
  const watchdog = warm();
  for (let step = 101; step < 1000; step += 1) assert.is(watchdog.check(stats(step, 900), true, SECOND), null);
});

test('the first steps may take minutes', () => {
  assert.is(watchStep(new Watchdog(LIMIT), 3, 9 * LIMIT), null);
  assert.is(watchStep(new Watchdog(LIMIT), 3, 11 * LIMIT), 10 * LIMIT + SECOND);
});

test('where steps take long, one may take many times the longest', () => {
  const watchdog = warm(5 * SECOND);
  assert.is(watchStep(watchdog, 100, 4 * SECOND), null);
  assert.is(watchStep(watchdog, 101, 60 * SECOND), null);
  assert.is(watchStep(watchdog, 101, 1000 * SECOND), 20 * 4 * SECOND + SECOND);
});

test('a process that gives no sign of life hangs, whatever it was at', () => {
  assert.is(checkSilence(warm(), 60), null);
  assert.match(checkSilence(warm(), 61) ?? '', /no sign of life for 61 s/);
  const watchdog = warm();
  for (let round = 0; round < 5; round += 1) {
    assert.is(checkSilence(watchdog, 59), null);
    watchdog.check(stats(100, 0), true, SECOND);
  }
  assert.match(checkSilence(new Watchdog(LIMIT), 61) ?? '', /no sign of life/);
});

test('before there are counts only silence tells', () => {
  assert.is(new Watchdog(LIMIT).check(null, false, SECOND), null);
});

test('0 waits for ever', () => {
  assert.is(watchStep(warm(0), 100, 100 * LIMIT), null);
  assert.is(checkSilence(warm(0), 10_000), null);
});

test('time in which the machine was suspended, or server and engine together, does not count', () => {
  const hour = 3600 * SECOND;
  const watchdog = warm();
  watchdog.check(stats(100, 500), true, SECOND);
  // The first check afterwards comes before the first counts.
  assert.is(watchdog.check(stats(100, 500), false, hour), null);
  assert.is(watchdog.check(stats(100, hour), true, SECOND), null);
  assert.is(watchdog.check(stats(100, hour + SECOND), true, SECOND), null);
  // Nor does it say how long steps take: those here took four seconds at most.
  const end = watchStep(watchdog, 101, hour);
  assert.ok(end !== null && end <= 20 * 4 * SECOND + SECOND, `${end}`);
});

test.run();
