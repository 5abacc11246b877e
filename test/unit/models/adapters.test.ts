import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob } from '../../../ts/engine/job.js';
import { ManagedPool } from '../../../ts/models/managed-pool.js';
import { MemoryBudget } from '../../../ts/models/memory-budget.js';
import type { ManagedSource } from '../../../ts/models/model-source.js';
import type { ModelPool } from '../../../ts/models/pool.js';
import { FakeEngine } from '../../support/fake-engine.js';
import { until } from '../../support/until.js';

const test = suite('unit: adapters as models');

const FILES = [
  { name: 'sql', path: '/a', scale: 0.5 },
  { name: 'poems', path: '/b', scale: 1 },
];
const INFO = FILES.map(({ name, scale }) => ({ name, scale }));

function sourceOf(id: string, adapters = FILES): ManagedSource & { engine: FakeEngine } {
  const engine = new FakeEngine({ model: { id, adapters: INFO } });
  return {
    id,
    engine,
    aliases: [],
    sizeBytes: 8,
    estimatedBytes: 10,
    adapters,
    open: async () => ({ engine, measure: () => 10 }),
  };
}

async function poolOf(...sources: ManagedSource[]): Promise<ManagedPool> {
  const pool = new ManagedPool(sources, { budget: MemoryBudget.of(20) });
  await pool.start([]);
  return pool;
}

/** Adapters of the job for a request with this model name. */
async function adaptersFor(pool: ModelPool, engine: FakeEngine, name: string, adapters = null as never) {
  const { engine: lent, release } = await pool.acquire(name, {});
  for await (const _token of lent.submit(completeJob({ prompt: 'Hi', adapters })));
  release();
  return [lent.model.id, engine.jobs.at(-1)?.adapters];
}

test('a list names what else a model and its adapters go by', async () => {
  const several = await poolOf({ ...sourceOf('a'), aliases: ['z'] }, sourceOf('b'), sourceOf('poems', []));
  const namesIn = (pool: ModelPool) => pool.list().map(({ id, aliases }) => [id, ...aliases]);
  // The name of an adapter alone is the first one's, unless a model has it.
  assert.equal(namesIn(several), [['a', 'z'], ['a:sql', 'sql'], ['a:poems'], ['b'], ['b:sql'], ['b:poems'], ['poems']]);
  const source = { ...sourceOf('a'), aliases: ['z', 'sql'] };
  const { engine } = source;
  const single = await poolOf(source);
  assert.equal(namesIn(single), [['a', 'z', 'sql'], ['a:sql'], ['a:poems', 'poems']]);
  for (const [name, adapter] of [
    ['z', null],
    ['sql', null],
    ['a:sql', [{ adapter: 0, scale: 0.5 }]],
    ['poems', [{ adapter: 1, scale: 1 }]],
  ] as const) {
    assert.equal((await adaptersFor(single, engine, name))[1], adapter, name);
  }
});

test('each is in the list after its model, with its state', async () => {
  const pool = await poolOf(sourceOf('a'), sourceOf('b', []));
  const seen = () => pool.list().map(({ id, parent, status, memoryBytes }) => [id, parent, status, memoryBytes]);
  assert.equal(seen(), [
    ['a', null, 'unloaded', null],
    ['a:sql', 'a', 'unloaded', null],
    ['a:poems', 'a', 'unloaded', null],
    ['b', null, 'unloaded', null],
  ]);
  const { release } = await pool.acquire('a:sql', {});
  assert.equal(seen().slice(0, 2), [
    ['a', null, 'loaded', 10],
    ['a:sql', 'a', 'loaded', null],
  ]);
  assert.equal(
    pool.list().map(({ running }) => running),
    [1, 0, 0, 0],
  );
  release();
  pool.unload('a:poems');
  await until(() => seen()[0]?.[2] === 'unloaded', 'its model is unloaded');
});

test('a name with an adapter is its model with that adapter; the name of the adapter alone will do', async () => {
  const [a, b] = [sourceOf('a'), sourceOf('b', [FILES[1] as (typeof FILES)[0]])];
  const pool = await poolOf(a, b);
  assert.equal(await adaptersFor(pool, a.engine, 'a'), ['a', null]);
  assert.equal(await adaptersFor(pool, a.engine, 'a:sql'), ['a:sql', [{ adapter: 0, scale: 0.5 }]]);
  assert.equal(await adaptersFor(pool, a.engine, 'sql'), ['a:sql', [{ adapter: 0, scale: 0.5 }]]);
  assert.equal(await adaptersFor(pool, a.engine, 'poems'), ['a:poems', [{ adapter: 1, scale: 1 }]]);
  assert.equal(await adaptersFor(pool, b.engine, 'b:poems'), ['b:poems', [{ adapter: 1, scale: 1 }]]);
  const unknown = await pool.acquire('b:sql', {}).catch((error) => error.code);
  assert.is(unknown, 'model_not_found');
});

test('events of a model are also sent for its adapters', async () => {
  const pool = await poolOf(sourceOf('a', FILES.slice(0, 1)));
  const told: string[] = [];
  pool.onEvent(({ id, status }) => told.push(`${id} ${status}`));
  (await pool.acquire('a:sql', {})).release();
  pool.unload('a');
  while (!pool.remove('a')) await pool.changed();
  const states = ['loading', 'loaded', 'unloaded', 'removed'];
  assert.equal(
    told,
    states.flatMap((state) => [`a ${state}`, `a:sql ${state}`]),
  );
});

test('a job that names adapters gets these', async () => {
  const a = sourceOf('a');
  const pool = await poolOf(a);
  assert.equal(await adaptersFor(pool, a.engine, 'a:sql', [] as never), ['a:sql', []]);
});

test('a model with the name of an adapter is that model', async () => {
  for (const order of [
    ['a', 'sql'],
    ['sql', 'a'],
  ]) {
    const sources = order.map((id) => sourceOf(id, id === 'a' ? FILES : []));
    const pool = await poolOf(...sources);
    const { engine } = await pool.acquire('sql', {});
    assert.is(engine.model.id, 'sql', order.join());
  }
});

test('adapters neither embed nor rank', async () => {
  const pool = await poolOf(sourceOf('a'));
  const { engine } = await pool.acquire('a:sql', {});
  for (const refused of [engine.embed(['Hi']), engine.rank('Hi', ['a'])]) {
    const error = await refused.catch((thrown) => thrown);
    assert.equal([error.code, error.param], ['model_not_capable', 'model']);
  }
});

test.run();
