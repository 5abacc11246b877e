import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import type { ModelEntry } from '../../../ts/models/pool.js';
import type { FakeEngine } from '../../support/fake-engine.js';
import { FakeSource, poolOf } from '../../support/fake-source.js';
import { until } from '../../support/until.js';

const test = suite('unit: models that are loaded again');

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'none',
    (error: ChasquiError) => error.code,
  );

test('a model whose engine was given up is listed as failed, until it is unloaded and loaded again', async () => {
  const a = new FakeSource('a');
  const { pool, states } = await poolOf([a]);
  (await pool.acquire('a', {})).release();
  (a.engines[0] as FakeEngine).state = 'failed';
  a.hooks.onState?.();
  const { status, reason, pid } = pool.list()[0] as ModelEntry;
  assert.equal([status, pid], ['failed', null]);
  assert.match(String(reason), /is not restarted/);
  pool.unload('a');
  await until(() => states()[0] === 'unloaded', 'it is unloaded');
  (await pool.acquire('a', {})).release();
  assert.equal(states(), ['loaded']);
});

test('a given-up engine is started again by a load, after a while by a request, and once its file has changed', async () => {
  const a = new FakeSource('a');
  const { pool, states } = await poolOf([a]);
  const giveUp = () => {
    (a.engines.at(-1) as FakeEngine).state = 'failed';
    a.hooks.onState?.();
  };
  const held = await pool.acquire('a', {});
  giveUp();
  (await pool.acquire('a', {})).release();
  assert.equal([states(), a.engines.length], [['failed'], 1], 'too early for requests');
  pool.load('a');
  await until(() => a.engines.length === 2 && states()[0] === 'loaded', 'the next engine');
  assert.ok(a.engines[0]?.closed);
  held.release();
  giveUp();
  a.modified += 1;
  const next = await pool.acquire('a', {});
  assert.is(next.engine, a.engines[2]);
  next.release();
  a.isManual = true;
  giveUp();
  a.modified += 1;
  const failing = pool.acquire('a', {});
  await until(() => a.engines.length === 4, 'the load');
  a.fail(new Error('broken'));
  assert.is(await codeOf(failing), 'engine_failed');
  assert.is(await codeOf(pool.acquire('a', {})), 'engine_failed');
  assert.is(a.engines.length, 4);
  a.modified += 1;
  const repaired = pool.acquire('a', {});
  await until(() => a.engines.length === 5, 'the load of the repaired file');
  a.load();
  (await repaired).release();
});

test('a load cancels an unload that has not begun', async () => {
  const a = new FakeSource('a', true);
  const { pool, states } = await poolOf([a]);
  const first = pool.acquire('a', {});
  await until(() => a.engines.length === 1, 'the load');
  pool.unload('a');
  pool.load('a', { pin: true });
  a.load();
  const held = await first;
  pool.unload('a');
  const queued = pool.acquire('a', {});
  pool.load('a');
  (await queued).release();
  held.release();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal([states(), a.engines.length, a.engines[0]?.closed], [['loaded'], 1, false]);
});

test('a model was created when its file was modified', async () => {
  const a = new FakeSource('a');
  a.modified = 1_700_000_000_500;
  const { pool } = await poolOf([a]);
  assert.is(pool.list()[0]?.created, 1_700_000_000);
});

test.run();
