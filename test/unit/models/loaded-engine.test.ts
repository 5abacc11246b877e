import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ManagedPool } from '../../../ts/models/managed-pool.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: a pool of a loaded engine');

const codeOf = (promise: Promise<unknown>) => promise.then(() => 'none').catch(({ code }) => code);

test('lends the engine at once, under its own name or under any', async () => {
  const engine = new FakeEngine();
  const pool = ManagedPool.of(engine);
  assert.ok(pool.isReady);
  assert.is((await pool.acquire('fake', {})).engine, engine);
  assert.is(await codeOf(pool.acquire(undefined, {})), 'none');
  assert.is(await codeOf(pool.acquire('other', {})), 'model_not_found');
  const any = ManagedPool.of(new FakeEngine(), { anyName: true });
  assert.is(await codeOf(any.acquire('other', {})), 'none');
});

test('keeps the engine whatever a request demands', async () => {
  const engine = new FakeEngine();
  const pool = ManagedPool.of(engine);
  (await pool.acquire('fake', { keepMs: 0 })).release();
  assert.throws(
    () => pool.unload('fake', { force: true }),
    ({ code, param }: { code: string; param: string }) => code === 'unsupported_parameter' && param === 'model',
  );
  assert.is(pool.list()[0]?.expiresAt, null);
  assert.not.ok(engine.closed);
  assert.is((await pool.acquire('fake', {})).engine, engine);
});

test('gives no lease to a request that was cancelled', async () => {
  const reason = new Error('gone');
  const signal = AbortSignal.abort(reason);
  assert.is(
    await ManagedPool.of(new FakeEngine())
      .acquire('fake', { signal })
      .catch((error) => error),
    reason,
  );
});

test('closes the engine with itself', async () => {
  const engine = new FakeEngine();
  const pool = ManagedPool.of(engine);
  await pool.close();
  assert.ok(engine.closed);
  assert.is(await codeOf(pool.acquire('fake', {})), 'engine_closed');
});

test.run();
