import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EngineStats } from '../../../ts/engine/engine.js';
import { ChasquiError } from '../../../ts/errors.js';
import { EngineSnapshot } from '../../../ts/metrics/engine-snapshot.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: what an engine told last');

const counts = (active: number): Promise<EngineStats> =>
  new FakeEngine().stats().then((stats) => ({ ...stats, active }));

/** Answers by a list, one after the other; a question beyond it is never answered. */
function engineThat(...answers: (() => Promise<EngineStats>)[]) {
  const engine = { asked: 0, stats: () => answers[engine.asked++]?.() ?? new Promise<EngineStats>(() => undefined) };
  return engine;
}

test('an engine that answers', async () => {
  const snapshot = new EngineSnapshot(
    engineThat(
      () => counts(1),
      () => counts(2),
    ),
  );
  assert.is((await snapshot.read()).stats?.active, 1);
  const { stats, isUp } = await snapshot.read();
  assert.equal([stats?.active, isUp], [2, true]);
});

test('one that answers within a second is up, as on a busy machine', async () => {
  const late = new Promise((resolve) => setTimeout(resolve, 100));
  const { stats, isUp } = await new EngineSnapshot(engineThat(() => late.then(() => counts(6)))).read();
  assert.equal([stats?.active, isUp], [6, true]);
});

test('one that does not answer is not waited for, nor asked again; what it said last stands', async () => {
  const engine = engineThat(() => counts(3));
  const snapshot = new EngineSnapshot(engine);
  await snapshot.read();
  for (let i = 0; i < 5; i++) {
    const { stats, isUp } = await snapshot.read(1);
    assert.equal([stats?.active, isUp], [3, false]);
  }
  assert.is(engine.asked, 2);
});

test('one that answers late is heard all the same', async () => {
  let answer: (stats: EngineStats) => void = () => undefined;
  const late = new Promise<EngineStats>((resolve) => {
    answer = resolve;
  });
  const snapshot = new EngineSnapshot(
    engineThat(
      () => late,
      () => counts(5),
    ),
  );
  assert.equal(await snapshot.read(1), { stats: null, isUp: false, pid: null });
  answer(await counts(4));
  await late;
  await new Promise((resolve) => setImmediate(resolve));
  const { stats, isUp } = await snapshot.read();
  assert.equal([stats?.active, isUp], [5, true]);
});

test('one that is dead', async () => {
  const dead = async () => {
    throw new ChasquiError('engine_closed', 'The engine was closed.');
  };
  const snapshot = new EngineSnapshot(engineThat(() => counts(1), dead, dead));
  await snapshot.read();
  for (let i = 0; i < 2; i++) {
    assert.equal(await snapshot.read(), { stats: null, isUp: false, pid: null });
  }
});

test.run();
