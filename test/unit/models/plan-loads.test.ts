import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoadPlan, type PlannedModel, planLoads } from '../../../ts/models/plan-loads.js';

const test = suite('unit: which model is loaded next');

const NOTHING: LoadPlan = { load: null, unload: [], closed: [], refuse: null, againAt: null };

function model(id: string, changes: Partial<PlannedModel> = {}): PlannedModel {
  return {
    id,
    state: 'unloaded',
    bytes: 10,
    leases: 0,
    usedAt: 0,
    loadedAt: 0,
    loadMs: 5,
    isClosed: false,
    isPinned: false,
    ...changes,
  };
}

const loaded = (id: string, changes: Partial<PlannedModel> = {}) => model(id, { state: 'loaded', ...changes });

function plan(models: PlannedModel[], waiting: string[], budgetBytes = 20, now = 100, maxModels = Infinity): LoadPlan {
  return planLoads({ models, waiting, budgetBytes, maxModels, now });
}

test('nothing, where nobody waits, or only for what is there', () => {
  assert.equal(plan([loaded('a'), model('b')], []), NOTHING);
  assert.equal(plan([loaded('a'), model('b')], ['a']), NOTHING);
});

test('what fits is loaded, one after the other', () => {
  assert.is(plan([loaded('a'), model('b'), model('c')], ['b', 'c']).load, 'b');
  assert.equal(plan([model('b', { state: 'loading' }), model('c')], ['b', 'c'], 100), NOTHING);
});

test('what failed before is loaded again', () => {
  assert.is(plan([model('a', { state: 'failed' })], ['a']).load, 'a');
});

test('what was used longest ago makes way, and no more than has to', () => {
  const models = [loaded('a', { usedAt: 3 }), loaded('b', { usedAt: 1 }), loaded('c', { usedAt: 2 }), model('d')];
  assert.equal(plan(models, ['d'], 30), { ...NOTHING, unload: ['b'] });
  assert.equal(plan(models, ['d'], 20), { ...NOTHING, unload: ['b', 'c'] });
});

test('the load waits until the memory is free', () => {
  const leaving = model('a', { state: 'unloading' });
  assert.equal(plan([leaving, loaded('b'), model('c')], ['c']), NOTHING);
  assert.equal(plan([model('a', { state: 'unloading' })], ['a']), NOTHING);
  assert.is(plan([model('a'), loaded('b'), model('c')], ['c']).load, 'c');
});

test('pinned models are never evicted; models that do not fit beside them are refused', () => {
  const pinned = loaded('a', { usedAt: 1, isPinned: true });
  assert.equal(plan([pinned, loaded('b', { usedAt: 9 }), model('c')], ['c']), { ...NOTHING, unload: ['b'] });
  assert.equal(plan([pinned, loaded('b', { leases: 1 }), model('c')], ['c']), { ...NOTHING, closed: ['b'] });
  assert.equal(plan([pinned, model('c')], ['c'], 19), { ...NOTHING, refuse: 'c' });
  assert.equal(plan([pinned, loaded('b'), model('c', { bytes: 11 })], ['c']), { ...NOTHING, refuse: 'c' });
  // A model that is not loaded occupies no memory.
  assert.is(plan([model('a', { isPinned: true }), model('c')], ['c'], 10).load, 'c');
});

test('a maximum number of models is kept like the memory', () => {
  const models = [loaded('a', { usedAt: 2 }), loaded('b', { usedAt: 1 }), model('c')];
  const withMax = (max: number, all = models) => plan(all, ['c'], Infinity, 100, max);
  assert.is(withMax(3).load, 'c');
  assert.equal(withMax(2), { ...NOTHING, unload: ['b'] });
  assert.equal(withMax(1), { ...NOTHING, unload: ['b', 'a'] });
  assert.equal(withMax(2, [model('b', { state: 'unloading' }), loaded('a'), model('c')]), NOTHING);
  assert.equal(withMax(1, [loaded('a', { leases: 1 }), model('c')]), { ...NOTHING, closed: ['a'] });
  assert.equal(withMax(1, [loaded('a', { isPinned: true }), model('c')]), { ...NOTHING, refuse: 'c' });
});

test('idle models are evicted, busy ones never', () => {
  const busy = loaded('a', { leases: 1, usedAt: 1 });
  assert.equal(plan([busy, loaded('b', { usedAt: 9 }), model('c')], ['c']), { ...NOTHING, unload: ['b'] });
  assert.equal(plan([busy, model('c')], ['c'], 10), { ...NOTHING, closed: ['a'] });
});

test('while what computes is waited for, what is idle is closed too, and unloaded only with it', () => {
  const models = [loaded('a', { leases: 1 }), loaded('b'), model('c', { bytes: 20 })];
  assert.equal(plan(models, ['c']), { ...NOTHING, closed: ['b', 'a'] });
  assert.equal(plan([loaded('a'), loaded('b'), model('c', { bytes: 20 })], ['c']), { ...NOTHING, unload: ['a', 'b'] });
});

test('a model stays open at least as long as its load took', () => {
  const busy = loaded('a', { leases: 1, loadedAt: 90, loadMs: 30 });
  assert.equal(plan([busy, model('b')], ['b'], 10, 100), { ...NOTHING, againAt: 120 });
  assert.equal(plan([busy, model('b')], ['b'], 10, 120), { ...NOTHING, closed: ['a'] });
  assert.equal(plan([{ ...busy, leases: 0 }, model('b')], ['b'], 10, 100), { ...NOTHING, unload: ['a'] });
});

test('only the first that waits is made room for, though another one would fit', () => {
  const models = [loaded('a', { leases: 1 }), model('large', { bytes: 20 }), model('small', { bytes: 1 })];
  assert.equal(plan(models, ['large', 'small']), { ...NOTHING, closed: ['a'] });
  assert.is(plan(models, ['small', 'large']).load, 'small');
});

test('a closed model stays chosen for eviction', () => {
  const one = loaded('a', { leases: 1, usedAt: 50, isClosed: true });
  const other = loaded('b', { leases: 1, usedAt: 10 });
  assert.equal(plan([one, other, model('c')], ['c']).closed, ['a']);
});

test('a model larger than the budget is loaded alone', () => {
  const large = model('large', { bytes: 100 });
  assert.is(plan([large], ['large']).load, 'large');
  assert.equal(plan([loaded('a'), large], ['large']), { ...NOTHING, unload: ['a'] });
  assert.equal(plan([model('a', { state: 'unloading' }), large], ['large']), NOTHING);
});

/** All that can happen to models that clients ask for all the time, many times over. */
test('no request waits forever, and the budget is kept', () => {
  const ids = ['a', 'b', 'c'];
  const models = new Map(ids.map((id) => [id, { ...model(id) }]));
  const asked = { a: 0, b: 0, c: 0 } as Record<string, number>;
  const waiting: string[] = [];
  let now = 0;
  let seed = 7;
  const draw = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let round = 0; round < 20_000; round += 1) {
    now += 1;
    const id = ids[draw(3)] as string;
    const chosen = models.get(id) as { -readonly [Key in keyof PlannedModel]: PlannedModel[Key] };
    if (chosen.state === 'loading') Object.assign(chosen, { state: 'loaded', loadedAt: now, usedAt: now, leases: 1 });
    else if (chosen.state === 'unloading') chosen.state = 'unloaded';
    else if (chosen.state === 'loaded' && chosen.leases > 0 && draw(2) === 0) {
      chosen.leases -= 1;
      chosen.usedAt = now;
    } else if (chosen.state === 'loaded' && !chosen.isClosed) chosen.leases += 1;
    else if (!waiting.includes(id)) {
      waiting.push(id);
      asked[id] = now;
    }
    const current = [...models.values()];
    const next = planLoads({ models: current, waiting, budgetBytes: 20, maxModels: 3, now });
    for (const each of models.values()) {
      (each as { isClosed: boolean }).isClosed = next.closed.includes(each.id);
      if (next.unload.includes(each.id)) {
        assert.equal([each.state, each.leases], ['loaded', 0]);
        (each as { state: string }).state = 'unloading';
      }
    }
    if (next.load !== null) {
      const first = models.get(next.load) as { state: string };
      assert.is(first.state, 'unloaded');
      first.state = 'loading';
    }
    const held = [...models.values()].filter(({ state }) => state !== 'unloaded').length;
    assert.ok(held <= 2, `${held} models are held`);
    for (const name of [...waiting]) {
      const { state, isClosed } = models.get(name) as PlannedModel;
      assert.ok(now - (asked[name] as number) < 500, `${name} has waited for ${now - (asked[name] as number)} rounds`);
      if (state !== 'loaded' || isClosed) continue;
      waiting.splice(waiting.indexOf(name), 1);
    }
  }
});

test.run();
