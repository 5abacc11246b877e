import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { removeModel } from '../../../ts/models/remove-model.js';
import { fakeSources, poolOf } from '../../support/fake-source.js';

const test = suite('unit: models that are removed from a pool');

/** Not reached: the tests end the wait. */
const LONG_MS = 600_000;

test('an idle model is unloaded and removed', async () => {
  const { pool } = await poolOf(fakeSources());
  (await pool.acquire('a', {})).release();
  await removeModel(pool, 'a', LONG_MS);
  await removeModel(pool, 'b', LONG_MS);
  assert.equal(
    pool.list().map(({ id }) => id),
    ['c'],
  );
});

test('running requests finish first', async () => {
  const { pool } = await poolOf(fakeSources());
  const lease = await pool.acquire('a', {});
  const removed = removeModel(pool, 'a', LONG_MS);
  assert.is(pool.list().length, 3);
  lease.release();
  await removed;
  assert.is(pool.list().length, 2);
});

test('a model that stays in use is not removed, and requests that came meanwhile are served', async () => {
  const { pool, states } = await poolOf(fakeSources());
  const lease = await pool.acquire('a', {});
  const removed = removeModel(pool, 'a', 50).catch((error: unknown) => error);
  const next = pool.acquire('a', {});
  const error = await removed;
  assert.instance(error, ChasquiError);
  assert.equal([(error as ChasquiError).code, (error as ChasquiError).param], ['not_deletable', 'model']);
  assert.is(pool.list()[0]?.waiting, 0);
  (await next).release();
  lease.release();
  assert.equal(states(), ['loaded', 'unloaded', 'unloaded']);
});

test.run();
