import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sendBodies } from './send-bodies.js';

const test = suite('property: random bodies');

/** The long run is `npm run test:bodies -- --bodies 20000`. */
const BODIES = 600;
const SEED = 1;

test(`${BODIES} bodies of seed ${SEED} are answered 200, or 4xx that names the field, and no sequence is held`, async () => {
  const { problems, statuses, atRest, jobs } = await sendBodies(BODIES, SEED);
  assert.equal(problems, []);
  assert.equal(atRest, { active: 0, queued: 0 });
  assert.ok((statuses[200] ?? 0) > BODIES / 20, `answered: ${JSON.stringify(statuses)}`);
  assert.ok((statuses[400] ?? 0) > BODIES / 20, `refused: ${JSON.stringify(statuses)}`);
  assert.ok(jobs > 0);
});

test.run();
