import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { ManagedPool } from '../../../ts/models/managed-pool.js';
import { MemoryBudget } from '../../../ts/models/memory-budget.js';
import { FakeSource, poolOf, fakeSources as sources } from '../../support/fake-source.js';
import { until } from '../../support/until.js';

const test = suite('unit: a pool of several models');

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'none',
    (error: ChasquiError) => error.code,
  );

test('a request has its model loaded, others that come meanwhile share the load', async () => {
  const [a, b, c] = sources(true);
  const { pool, states } = await poolOf([a, b, c]);
  const told: number[] = [];
  const both = [pool.acquire('a', { onProgress: (fraction) => told.push(fraction) }), pool.acquire('a', {})];
  await until(() => a.engines.length === 1, 'the load');
  a.hooks.onProgress?.(0.4);
  assert.equal(told, [0.4]);
  assert.equal([states(), pool.list()[0]?.progress], [['loading', 'unloaded', 'unloaded'], 0.4]);
  a.load();
  const [one, other] = await Promise.all(both);
  assert.is(one?.engine, other?.engine);
  assert.is(a.engines.length, 1);
  assert.equal(states(), ['loaded', 'unloaded', 'unloaded']);
});

test('two stay side by side; the third displaces what was used longest ago', async () => {
  const [a, b, c] = sources();
  const { pool, states } = await poolOf([a, b, c]);
  (await pool.acquire('a', {})).release();
  (await pool.acquire('b', {})).release();
  assert.equal(states(), ['loaded', 'loaded', 'unloaded']);
  (await pool.acquire('a', {})).release();
  const { engine } = await pool.acquire('c', {});
  assert.is(engine.model.id, 'c');
  assert.equal(states(), ['loaded', 'unloaded', 'loaded']);
  assert.ok(b.engines[0]?.closed);
});

test('no more models are loaded than allowed', async () => {
  const { pool, states } = await poolOf(sources(), { budget: MemoryBudget.of(Infinity), maxModels: 2 });
  for (const id of ['a', 'b', 'c']) (await pool.acquire(id, {})).release();
  assert.equal(states(), ['unloaded', 'loaded', 'loaded']);
});

test('busy models are never unloaded; waiting requests get their turn when it is idle', async () => {
  const [a, b, c] = sources();
  const { pool, states } = await poolOf([a, b, c]);
  const [one, other] = [await pool.acquire('a', {}), await pool.acquire('b', {})];
  let third = false;
  const waiting = pool.acquire('c', {}).then((lease) => {
    third = true;
    return lease;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal([third, states()], [false, ['loaded', 'loaded', 'unloaded']]);
  other.release();
  other.release();
  assert.is((await waiting).engine.model.id, 'c');
  assert.equal(states(), ['loaded', 'unloaded', 'loaded']);
  one.release();
});

test('a model that is asked for all the time lets another one in', async () => {
  const [a, b] = sources();
  const { pool } = await poolOf([a, b], { budget: MemoryBudget.of(10) });
  let served = 0;
  let asking = true;
  const client = async () => {
    let last = await pool.acquire('a', {});
    while (asking) {
      const next = pool.acquire('a', {});
      await new Promise((resolve) => setTimeout(resolve, 1));
      last.release();
      last = await next;
      served += 1;
    }
    last.release();
  };
  const clients = Promise.all([client(), client()]);
  await until(() => served > 3, 'the first is served');
  const lease = await pool.acquire('b', {});
  assert.is(lease.engine.model.id, 'b');
  const before = served;
  lease.release();
  await until(() => served > before, 'the first is served again');
  asking = false;
  await clients;
});

test('measured memory replaces the estimate', async () => {
  const [a, b] = sources(true);
  const { pool, states } = await poolOf([a, b]);
  const first = pool.acquire('a', {});
  await until(() => a.engines.length === 1, 'the load');
  a.load(15);
  (await first).release();
  const second = pool.acquire('b', {});
  await until(() => b.engines.length === 1, 'the other load');
  b.load();
  await second;
  assert.equal(states(), ['unloaded', 'loaded']);
});

test('a request that leaves waits no longer, and one that waited too long is told', async () => {
  const [a, b] = sources(true);
  const { pool } = await poolOf([a, b], { loadTimeoutMs: 30 });
  const leaving = new AbortController();
  const left = pool.acquire('a', { signal: leaving.signal });
  const late = pool.acquire('a', {});
  const never = pool.acquire('b', {});
  leaving.abort(new ChasquiError('client_closed_request', 'gone'));
  assert.is(await codeOf(left), 'client_closed_request');
  assert.is(await codeOf(late), 'model_loading');
  assert.is(await codeOf(never), 'model_loading');
  a.load();
  await until(() => pool.list()[0]?.status === 'loaded', 'the load goes on');
  assert.is(b.engines.length, 0);
});

test('no more requests wait for a model than its engine would take', async () => {
  const [a, b] = sources(true);
  Object.assign(a, { maxWaiting: 2 });
  const { pool } = await poolOf([a, b]);
  const leaving = new AbortController();
  const [left, first] = [pool.acquire('a', { signal: leaving.signal }), pool.acquire('a', {})];
  const refused = await pool.acquire('a', {}).catch((error: ChasquiError) => error);
  assert.instance(refused, ChasquiError);
  assert.equal([(refused as ChasquiError).code, (refused as ChasquiError).retryAfterSeconds], ['queue_full', 5]);
  leaving.abort(new ChasquiError('client_closed_request', 'gone'));
  assert.is(await codeOf(left), 'client_closed_request');
  const [second, full] = [pool.acquire('a', {}), pool.acquire('a', {})];
  assert.is(await codeOf(full), 'queue_full');
  const many = Array.from({ length: 261 }, () => codeOf(pool.acquire('b', {})));
  assert.is(await many.at(-1), 'queue_full', 'as many as an engine takes that is told nothing');
  a.load();
  for (const lease of await Promise.all([first, second])) lease.release();
  await pool.close();
  assert.equal(await Promise.all(many.slice(0, -1)), Array(260).fill('engine_closed'));
});

test('a model that is to be loaded without a request waits once, and takes no place of a request', async () => {
  const [a] = sources(true);
  Object.assign(a, { maxWaiting: 1 });
  const { pool, states } = await poolOf([a]);
  for (let times = 0; times < 3; times += 1) pool.load('a');
  assert.is(pool.list()[0]?.waiting, 1);
  const waiting = pool.acquire('a', {});
  assert.is(await codeOf(pool.acquire('a', {})), 'queue_full');
  await until(() => a.engines.length === 1, 'the load');
  a.load();
  (await waiting).release();
  pool.unload('a');
  await until(() => states()[0] === 'unloaded', 'it is unloaded');
  pool.load('a');
  await until(() => a.engines.length === 2, 'the next load');
  await pool.close();
});

test('one that cannot be loaded says so, and is not tried again for every request', async () => {
  const [a, b] = sources(true);
  const { pool, failures } = await poolOf([a, b]);
  const refused = pool.acquire('a', {});
  await until(() => a.engines.length === 1, 'the load');
  const failure = new ChasquiError('model_file_invalid', '/home/me/secret.gguf is no model.');
  a.fail(failure);
  assert.is(await codeOf(refused), 'engine_failed');
  assert.equal(failures, [failure]);
  assert.is(await codeOf(pool.acquire('a', {})), 'engine_failed');
  assert.is(a.engines.length, 1);
  assert.not.match(JSON.stringify(pool.list()), /secret/);
  const other = pool.acquire('b', {});
  await until(() => b.engines.length === 1, 'the other load');
  b.load();
  assert.is((await other).engine.model.id, 'b');
});

test('without autoload only what is loaded is served', async () => {
  const { pool } = await poolOf(sources(), { autoload: false });
  await pool.acquire('a', {}).then(
    () => assert.unreachable() as never,
    ({ code, message }) => {
      assert.is(code, 'model_not_loaded');
      assert.match(message, /`a` is not loaded: load it with `chasqui load`/);
    },
  );
});

test('an idle model goes after its time, a busy one does not', async () => {
  const { pool, states } = await poolOf(sources(), { ttlMs: 30 });
  const held = await pool.acquire('a', {});
  (await pool.acquire('b', {})).release();
  await until(() => states()[1] === 'unloaded', 'the idle one is gone');
  assert.is(states()[0], 'loaded');
  held.release();
  await until(() => states()[0] === 'unloaded', 'the other one is gone, too');
});

test('loading and unloading without a request', async () => {
  const [a, b, c] = sources();
  const { pool, states } = await poolOf([a, b, c], { autoload: false });
  pool.load('a');
  await until(() => states()[0] === 'loaded', 'it is loaded');
  pool.load('a');
  const held = await pool.acquire('a', {});
  assert.equal([pool.list()[0]?.running, pool.list()[0]?.memoryBytes], [1, 10]);
  pool.unload('a');
  const queued = pool.acquire('a', {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal([states()[0], pool.list()[0]?.waiting], ['loaded', 1]);
  held.release();
  (await queued).release();
  assert.is(a.engines.length, 2);
  pool.unload('a');
  await until(() => states()[0] === 'unloaded', 'it is unloaded');
  pool.unload('b');
  assert.is(b.engines.length, 0);
  for (const act of ['load', 'unload'] as const) assert.throws(() => pool[act]('d'), /`d` is not served here/);
});

test('by force it is unloaded from under those who use it, whose leases end well all the same', async () => {
  const [a, b, c] = sources();
  const { pool, states } = await poolOf([a, b, c]);
  const held = await pool.acquire('a', {});
  const ended = held.engine.submit({ prompt: 'abc' } as never).next();
  pool.unload('a', { force: true });
  await until(() => states()[0] === 'unloaded', 'it is unloaded');
  assert.is(a.engines[0]?.closed, true);
  assert.is(
    await ended.then(
      () => '',
      ({ code }) => code,
    ),
    'request_cancelled',
  );
  const next = await pool.acquire('a', {});
  held.release();
  assert.equal([states()[0], pool.list()[0]?.running, a.engines.length], ['loaded', 1, 2]);
  next.release();
});

test('the start of several models has one progress, by bytes', async () => {
  const [a, b, c] = sources(true);
  Object.assign(b, { sizeBytes: 24 });
  const { pool } = await poolOf([a, b, c], { budget: MemoryBudget.of(100) });
  const told: number[] = [];
  const starting = pool.start(['a', 'b', 'c'], (fraction) => told.push(fraction));
  for (const source of [a, b, c]) {
    await until(() => source.engines.length === 1, 'its load');
    for (const fraction of [0, 0.5, 1]) source.hooks.onProgress?.(fraction);
    source.load();
  }
  await starting;
  // Of 8 + 24 + 8 bytes.
  assert.equal(told, [0, 0.1, 0.2, 0.2, 0.5, 0.8, 0.8, 0.9, 1]);
});

test('names', async () => {
  const [a, b] = sources();
  Object.assign(b, { aliases: ['c'] });
  const { pool } = await poolOf([a, b]);
  assert.is((await pool.acquire('c', {})).engine.model.id, 'b');
  assert.is(await codeOf(pool.acquire('d', {})), 'model_not_found');
  assert.is(await codeOf(pool.acquire(undefined, {})), 'missing_required_parameter');
  const any = await poolOf(sources(), { anyName: true });
  (await any.pool.acquire('b', {})).release();
  for (const name of ['d', undefined]) assert.is((await any.pool.acquire(name, {})).engine.model.id, 'b');
  const same = [new FakeSource('a'), new FakeSource('a')];
  assert.throws(() => new ManagedPool(same), /Two models have the name `a`/);
});

test('the pool is ready after the models of the start are loaded', async () => {
  const [a, b, c] = sources(true);
  const options = { budget: MemoryBudget.of(20) };
  const pool = new ManagedPool([a, b, c], options);
  const started = pool.start(['a', 'b', 'c']);
  assert.not(pool.isReady);
  assert.is(await codeOf(pool.acquire('a', {})), 'model_loading');
  await until(() => a.engines.length === 1, 'the first load');
  a.load();
  await until(() => b.engines.length === 1, 'the second load');
  assert.is((await pool.acquire('a', {})).engine.model.id, 'a');
  b.fail(new Error('broken'));
  await until(() => c.engines.length === 1, 'the third, because the second does not need its room');
  c.load();
  await started;
  assert.ok(pool.isReady);
  const alone = new ManagedPool([a], options);
  const failing = alone.start(['a']);
  await until(() => a.engines.length === 2, 'its load');
  const failure = new Error('broken');
  a.fail(failure);
  assert.is(await failing.catch((error) => error), failure);
});

test('closing it ends loads, refuses who waits, and closes engines', async () => {
  const a = new FakeSource('a');
  const b = new FakeSource('b', true);
  const { pool, failures } = await poolOf([a, b]);
  (await pool.acquire('a', {})).release();
  const waiting = codeOf(pool.acquire('b', {}));
  await until(() => b.engines.length === 1, 'the load');
  await pool.close();
  assert.is(await waiting, 'engine_closed');
  assert.ok(a.engines[0]?.closed);
  assert.is(await codeOf(pool.acquire('a', {})), 'engine_closed');
  assert.equal(failures, []);
});

test('models come and go while others are used', async () => {
  const [one, other] = [new FakeSource('one'), new FakeSource('other')];
  const { pool } = await poolOf([one]);
  const lease = await pool.acquire('one', {});
  pool.add(other);
  assert.throws(() => pool.add(new FakeSource('other')), /Two models have the name `other`/);
  (await pool.acquire('other', {})).release();
  assert.not.ok(pool.remove('other'), 'it is loaded');
  pool.unload('other');
  await until(() => pool.list()[1]?.status === 'unloaded', 'it is unloaded');
  assert.ok(pool.remove('other'));
  assert.equal(
    pool.list().map(({ id }) => id),
    ['one'],
  );
  await pool.acquire('other', {}).catch((error: ChasquiError) => assert.is(error.code, 'model_not_found'));
  pool.add(new FakeSource('other'));
  assert.not.ok(pool.remove('one'), 'it is used');
  lease.release();
  await pool.close();
});

test('removing a model refuses its waiting requests with a retryable error', async () => {
  const [large, waited] = [new FakeSource('large', true), new FakeSource('waited')];
  const { pool } = await poolOf([large, waited]);
  const first = pool.acquire('large', {});
  const refused = pool.acquire('waited', {}).catch((error: ChasquiError) => error.code);
  assert.ok(pool.remove('waited'), 'its load waits for that of the other');
  assert.is(await refused, 'model_loading');
  large.load();
  (await first).release();
  await pool.close();
});

test('where any name will do, an unknown one means the model that was selected', async () => {
  let selected: string | null = 'second';
  const { pool } = await poolOf([new FakeSource('first'), new FakeSource('second')], {
    anyName: true,
    selected: () => selected,
  });
  (await pool.acquire('first', {})).release();
  const of = async (name: string) => {
    const { engine, release } = await pool.acquire(name, {});
    release();
    return engine.model.id;
  };
  assert.is(await of('nonsense'), 'second');
  assert.is(await of('first'), 'first');
  selected = 'gone';
  assert.is(await of('nonsense'), 'first');
  await pool.close();
});

test('changes of state and of progress are told to those who watch, as long as they do', async () => {
  const source = new FakeSource('one', true);
  const { pool } = await poolOf([source]);
  const seen: string[] = [];
  const stop = pool.watch(() => seen.push(`${pool.list()[0]?.status} ${pool.list()[0]?.progress}`));
  const lease = pool.acquire('one', {});
  await until(() => source.engines.length > 0, 'the load has begun');
  source.hooks.onProgress?.(0.5);
  source.load();
  (await lease).release();
  assert.ok(seen.includes('loading 0.5'), seen.join(', '));
  assert.ok(seen.includes('loaded null'), seen.join(', '));
  stop();
  const { length } = seen;
  pool.unload('one');
  await until(() => pool.list()[0]?.status === 'unloaded', 'it is unloaded');
  assert.is(seen.length, length);
  await pool.close();
});

test.run();
