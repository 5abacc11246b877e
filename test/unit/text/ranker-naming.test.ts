import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { rankerNaming } from '../../../ts/api/shared/text/to-ranking.js';
import type { ModelEntry } from '../../../ts/models/pool.js';

const test = suite('unit: the model that ranks without being named');

/** A pool with models of these kinds; `null`: not loaded. */
function naming(...kinds: readonly ('mean' | 'rank' | null)[]) {
  const entries = kinds.map((pooling, index) => ({
    id: `m${index}`,
    engine: pooling === null ? null : { model: { pooling } },
  }));
  return rankerNaming({ pool: { list: () => entries as unknown as readonly ModelEntry[] } });
}

test('is the only loaded one', () => {
  assert.is(naming('mean', 'rank', null)({}), 'm1');
  assert.is(naming('mean', 'rank')({ model: 'other' }), 'other');
});

test('is unknown if several rank, or none', () => {
  assert.is(naming('rank', 'rank')({}), undefined);
  assert.is(naming('mean', null)({}), undefined);
});

test.run();
