import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EngineState } from '../../../ts/engine/engine.js';
import { closeServer } from '../../../ts/server/close-server.js';

const test = suite('unit: closing a server');

function parts(engineCloses: () => Promise<void>, state: EngineState = 'ready') {
  const closed: string[] = [];
  const note = async (what: string): Promise<void> => void closed.push(what);
  return {
    closed,
    app: { close: () => note('app') },
    pool: { list: () => [{ engine: { state } }], close: () => note('engine').then(engineCloses) },
    keys: { close: () => void closed.push('keys') },
  };
}

test('in this order, and only what is there', async () => {
  const all = parts(async () => undefined);
  await closeServer(all);
  assert.equal(all.closed, ['app', 'engine', 'keys']);
  await closeServer({ app: undefined, pool: undefined, keys: null });
});

test('an engine that never ends is waited for in bounded time', async () => {
  const stuck = parts(() => new Promise(() => undefined));
  const thrown = await closeServer(stuck, 20).then(
    () => 'closed',
    (error) => error.message,
  );
  assert.match(thrown, /has not ended within 0.02 seconds/);
  assert.equal(stuck.closed, ['app', 'engine', 'keys']);
});

for (const [state, outcome] of [
  ['ready', 'closed'],
  ['restarting', 'closed'],
  ['failed', 'engine_failed'],
] as const) {
  test(`an engine that is ${state}`, async () => {
    const all = parts(async () => undefined, state);
    const ended = await closeServer(all).then(
      () => 'closed',
      (error) => error.code,
    );
    assert.is(ended, outcome);
    assert.equal(all.closed, ['app', 'engine', 'keys']);
  });
}

test.run();
