import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { showLater } from '../../../ts/cli/output/progress.js';

const test = suite('cli: progress');

test('the progress of short work is not shown', () => {
  const shown: unknown[] = [];
  let time = 0;
  const progress = showLater(
    { update: (fraction) => shown.push(fraction), clear: () => shown.push('clear') },
    () => time,
  );
  for (time of [10, 999, 1000, 2000]) progress.update(time / 2000);
  progress.clear();
  assert.equal(shown, [0.5, 1, 'clear']);
});

test.run();
