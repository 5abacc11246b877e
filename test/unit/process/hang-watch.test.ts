// Time without a sign of life is time that really passed.
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HangWatch } from '../../../ts/process/hang-watch.js';

const test = suite('unit: hang watch');

const MINUTE = 60_000;
let clock = 0;
let date = 0;
const { now } = performance;
const { now: dateNow } = Date;

test.before.each(() => {
  clock = 0;
  date = 0;
  performance.now = () => clock;
  Date.now = () => date + clock;
  mock.timers.enable({ apis: ['setTimeout'] });
});
test.after.each(() => {
  performance.now = now;
  Date.now = dateNow;
  mock.timers.reset();
});

function watched(limitMs: number): { hangs: number[]; watch: HangWatch } {
  const hangs: number[] = [];
  // No process with this id, so no scheduling delay is subtracted.
  const watch = new HangWatch(undefined, (limit) => hangs.push(limit));
  watch.expectSign(limitMs);
  return { hangs, watch };
}

function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 100) {
    clock += 100;
    mock.timers.tick(100);
  }
}

test('silence beyond the limit is reported once as a hang', () => {
  const { hangs } = watched(MINUTE);
  pass(MINUTE - 100);
  assert.equal(hangs, []);
  pass(MINUTE);
  assert.equal(hangs, [MINUTE]);
});

test('each sign begins anew, and nothing is told after the watch has stopped', () => {
  const { hangs, watch } = watched(500);
  for (let sign = 0; sign < 5; sign += 1) {
    pass(400);
    watch.expectSign(500);
  }
  watch.stop();
  pass(MINUTE);
  assert.equal(hangs, []);
});

test('a clock that is set back puts nothing off', () => {
  const { hangs } = watched(MINUTE);
  pass(1000);
  date -= 600 * MINUTE;
  pass(MINUTE);
  assert.equal(hangs, [MINUTE]);
});

test('time in which this process was stopped, perhaps with the other, is no silence', () => {
  const { hangs } = watched(MINUTE);
  pass(1000);
  clock += 600 * MINUTE;
  // All timers are due when the process resumes.
  mock.timers.tick(600 * MINUTE);
  assert.equal(hangs, []);
  pass(MINUTE);
  assert.equal(hangs, [MINUTE]);
});

test.run();
