// What llama-server's /props says about models that were unloaded because they were idle.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { FakeSource, poolOf } from '../support/fake-source.js';
import { until } from '../support/until.js';

const test = suite('http: sleeping models');

test('props describe a model that sleeps, and do not load it', async () => {
  const { pool } = await poolOf([new FakeSource('a'), new FakeSource('b')]);
  const app = buildApp(pool, runtime);
  const props = async (query = '') => (await app.inject(`/props${query}`)).json();
  const statusOf = (model: string) => pool.list().find(({ id }) => id === model)?.status;
  const load = async (model: string) => (await pool.acquire(model, {})).release();
  const { error } = await props();
  assert.equal([error.code, /load one with `chasqui load`/.test(error.message)], ['model_not_loaded', true]);
  await load('a');
  const { is_sleeping: isSleeping, ...described } = await props();
  assert.equal([isSleeping, described.model_alias], [false, 'a']);
  pool.unload('a');
  await until(() => statusOf('a') === 'unloaded', 'unloaded');
  for (const query of ['', '?model=a']) assert.equal(await props(query), { ...described, is_sleeping: true });
  assert.is(statusOf('a'), 'unloaded');
  assert.is((await props('?model=b')).error.code, 'model_not_loaded');
  assert.is((await props('?model=c')).error.code, 'model_not_found');
  await load('b');
  assert.equal([(await props()).model_alias, (await props('?model=a')).is_sleeping], ['b', true]);
  await load('a');
  assert.equal([(await props('?model=a')).is_sleeping, (await props('?model=b')).is_sleeping], [false, false]);
  await app.close();
  await pool.close();
});

test('props describe a model that was unloaded before the app was built', async () => {
  const { pool } = await poolOf([new FakeSource('a')]);
  (await pool.acquire('a', {})).release();
  pool.unload('a');
  await until(() => pool.list()[0]?.status === 'unloaded', 'unloaded');
  const app = buildApp(pool, runtime);
  const { model_alias: alias, is_sleeping: isSleeping } = (await app.inject('/props')).json();
  assert.equal([alias, isSleeping], ['a', true]);
  await app.close();
  await pool.close();
});

test.run();
