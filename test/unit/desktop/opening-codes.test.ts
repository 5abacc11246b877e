import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OpeningCodes } from '../../../ts/desktop/opening-codes.js';

const codes = suite('codes that open the app');

codes('each opens once, and only within a minute', () => {
  let now = 0;
  const spent: string[] = [];
  const made = new OpeningCodes(
    (code) => spent.push(code),
    () => now,
  );
  const [early, late] = [made.make(), made.make()];
  assert.is.not(early, late);
  now = 59_999;
  assert.equal([made.use('another'), made.use(early), made.use(early)], [false, true, false]);
  assert.equal(spent, [early]);
  now = 60_000;
  assert.is(made.use(late), false);
  assert.equal(spent, [early, late]);
});

codes.run();
