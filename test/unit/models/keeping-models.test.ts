import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import { poolOf, fakeSources as sources } from '../../support/fake-source.js';
import { until } from '../../support/until.js';

const test = suite('unit: how long models stay, and who is told');

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'none',
    (error: ChasquiError) => error.code,
  );

test('a request says how long its model stays from now on; another one may say something else', async () => {
  const { pool, states } = await poolOf(sources(), { ttlMs: 20 });
  const use = async (keepMs?: number) => (await pool.acquire('a', { keepMs })).release();
  await use(Infinity);
  await use();
  (await pool.acquire('b', {})).release();
  await until(() => states()[1] === 'unloaded', 'the one with the time of all is gone');
  assert.equal([states()[0], pool.list()[0]?.expiresAt], ['loaded', null]);
  await use(60_000);
  await until(() => pool.list()[0]?.expiresAt !== null, 'it has an end');
  const left = (pool.list()[0]?.expiresAt ?? 0) - Date.now() / 1000;
  assert.ok(left > 30 && left < 62, `${left} s`);
  const held = await pool.acquire('a', {});
  await use(0);
  assert.is(states()[0], 'loaded');
  held.release();
  await until(() => states()[0] === 'unloaded', 'it is gone as soon as nobody uses it');
  // It is what the server says again.
  await use();
  await until(() => states()[0] === 'unloaded', 'it is gone after the time of all');
});

test('a request that waits for its model says so as well', async () => {
  const [a, b, c] = sources(true);
  const { pool, states } = await poolOf([a, b, c]);
  const waiting = pool.acquire('a', { keepMs: 0 });
  await until(() => a.engines.length === 1, 'the load');
  a.load();
  (await waiting).release();
  await until(() => states()[0] === 'unloaded', 'it is gone');
});

test('a pinned model stays: nobody displaces it, its time does not end, until it is unloaded by name', async () => {
  const [a, b, c] = sources();
  const { pool, states } = await poolOf([a, b, c], { pins: ['a'], ttlMs: 20 });
  await pool.start(['a']);
  assert.equal(
    [states(), pool.list().map(({ pinned }) => pinned)],
    [
      ['loaded', 'unloaded', 'unloaded'],
      [true, false, false],
    ],
  );
  (await pool.acquire('b', {})).release();
  const { release } = await pool.acquire('c', { keepMs: Infinity });
  assert.equal(states(), ['loaded', 'unloaded', 'loaded']);
  await pool.acquire('a', { keepMs: 0 }).then((lease) => lease.release());
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.is(states()[0], 'loaded');
  pool.load('c', { pin: true });
  release();
  assert.is(await codeOf(pool.acquire('b', {})), 'no_room_for_model');
  pool.load('c', { pin: false });
  (await pool.acquire('b', {})).release();
  pool.unload('a');
  await until(() => states()[0] === 'unloaded', 'it is unloaded');
});

test('a model that is pinned no more goes after its time', async () => {
  const { pool, states } = await poolOf(sources(), { pins: ['a'], ttlMs: 20 });
  await pool.start(['a']);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.is(states()[0], 'loaded');
  pool.load('a', { pin: false });
  await until(() => states()[0] === 'unloaded', 'it is gone');
});

test('what becomes of models is told once, and to those who watch', async () => {
  const [a, b, c] = sources(true);
  const { pool } = await poolOf([a, b, c]);
  const told: string[] = [];
  const stop = pool.onEvent(({ id, status, progress }) => told.push(`${id} ${status} ${progress ?? ''}`.trim()));
  const first = pool.acquire('a', {});
  await until(() => a.engines.length === 1, 'the load');
  for (const fraction of [0.25, 0.251, 0.5]) a.hooks.onProgress?.(fraction);
  a.load();
  (await first).release();
  pool.unload('a');
  await until(() => told.at(-1) === 'a unloaded', 'the end');
  const failing = codeOf(pool.acquire('b', {}));
  await until(() => b.engines.length === 1, 'the load');
  b.fail(new Error('broken'));
  assert.is(await failing, 'engine_failed');
  stop();
  pool.load('c');
  assert.equal(told, [
    'a loading 0',
    'a loading 0.25',
    'a loading 0.5',
    'a loaded',
    'a unloaded',
    'b loading 0',
    'b failed',
  ]);
  await pool.close();
});

test('who waits for changes is told of each, also of those that nobody else sees', async () => {
  const { pool } = await poolOf(sources());
  (await pool.acquire('a', {})).release();
  const told: string[] = [];
  const stop = pool.watch(() => told.push(`${pool.list()[0]?.status}`));
  pool.unload('a');
  // It is listed as unloaded from now on, but not removed before its engine has ended.
  while (!pool.remove('a')) await pool.changed();
  stop();
  pool.load('b');
  assert.ok(told.includes('unloaded'), told.join());
  assert.equal(
    pool.list().map(({ id }) => id),
    ['b', 'c'],
  );
  assert.is(await pool.acquire('a', {}).catch((error: ChasquiError) => error.code), 'model_not_found');
});

test('a model that comes while the pool runs is loaded like the others; its name must be free', async () => {
  const [a, b, c] = sources();
  const { pool } = await poolOf([a, b]);
  const told: string[] = [];
  pool.onEvent(({ id, status }) => told.push(`${id} ${status}`));
  pool.add(c);
  assert.throws(() => pool.add(a), /Two models have the name `a`/);
  (await pool.acquire('c', {})).release();
  assert.is(pool.remove('c'), false);
  pool.remove('b');
  assert.equal(told, ['c unloaded', 'c loading', 'c loaded', 'b removed']);
});

test.run();
