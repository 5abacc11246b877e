import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonInSlices } from '../../../ts/http/json-in-slices.js';

const test = suite('unit: JSON in slices');

test('it is the JSON of the whole', async () => {
  for (const items of [[], [1], [{ a: 1 }, null, 'x'], Array(1000).fill('y'.repeat(2000))]) {
    for (const reply of [{}, { object: 'list', usage: { n: 1 } }]) {
      assert.equal(JSON.parse(await jsonInSlices(reply, 'data', items)), { ...reply, data: items });
    }
  }
});

test('others have their turn between the slices', async () => {
  let turns = 0;
  let ended = false;
  const count = (): void => {
    turns += 1;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  await jsonInSlices({}, 'data', Array(50).fill('x'.repeat(300_000)));
  ended = true;
  assert.ok(turns > 20, `${turns} turns`);
});

test.run();
