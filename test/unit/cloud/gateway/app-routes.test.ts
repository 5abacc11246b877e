// What is remembered of an app's runners, and for how long.
import { setImmediate as turn } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AppRoutes, type Route } from '../../../../ts/cloud/gateway/app-routes.js';
import type { DeployedApp } from '../../../../ts/cloud/gateway/directory.js';
import { PrefixRouter } from '../../../../ts/cloud/routing/prefix-router.js';
import { cloudKey } from '../../../support/gateway.js';

const test = suite('cloud: routes of apps');

v8.setFlagsFromString('--expose-gc');
const collect: () => void = vm.runInNewContext('gc');

function twoRunners(id: string): DeployedApp {
  const runners = ['r1', 'r2'].map((name) => ({ id: name, slots: 1 }));
  return { id, runners: () => runners } as unknown as DeployedApp;
}

/** The routers that were made, as long as there are any. */
function watchRouters(): { routers: Set<WeakRef<PrefixRouter>>; stop(): void } {
  const { keep } = PrefixRouter.prototype;
  const routers = new Set<WeakRef<PrefixRouter>>();
  const seen = new WeakSet<PrefixRouter>();
  PrefixRouter.prototype.keep = function (this: PrefixRouter, ids) {
    if (!seen.has(this)) routers.add(new WeakRef(this));
    seen.add(this);
    keep.call(this, ids);
  };
  return {
    routers,
    stop: () => {
      PrefixRouter.prototype.keep = keep;
    },
  };
}

test('the state of an app is dropped with the app', async () => {
  const { routers, stop } = watchRouters();
  const routes = new AppRoutes();
  const kept = twoRunners('app_kept');
  const ask = (app: DeployedApp) => void routes.routeFor({ app, key: null }, Buffer.from('{}'));
  try {
    for (let number = 0; number < 20; number++) {
      ask(kept);
      ask(twoRunners(`app_${number}`));
    }
    assert.is(routers.size, 21);
    await turn();
    collect();
    assert.is([...routers].filter((router) => router.deref() !== undefined).length, 1);
    ask(kept);
    assert.is(routers.size, 21, 'the router of the app that is there is the one it had');
  } finally {
    stop();
  }
});

test('the prompts of a key are expected in the caches of its own requests only', () => {
  const routes = new AppRoutes();
  const app = twoRunners('app');
  const runners = app.runners();
  const prompt = 'The same beginning. '.repeat(500);
  const runnerOf = (id: string | null, salt?: string) => {
    const key = id === null ? null : { text: id, known: cloudKey({ id }) };
    const route = routes.routeFor({ app, key }, Buffer.from(JSON.stringify({ prompt, cache_salt: salt })));
    const { id: chosen } = (route as Route).choose(runners, () => 0);
    route?.learn({ promptTokens: 2500, cachedTokens: 2500, completionTokens: 1 });
    return chosen;
  };
  // A tie goes to the runners in turn, a cached prompt to the runner that has it.
  assert.equal(
    ['k1', 'k1', 'k1'].map((id) => runnerOf(id)),
    ['r1', 'r1', 'r1'],
  );
  for (const other of [() => runnerOf('k2'), () => runnerOf('k1', 'salt'), () => runnerOf(null)]) {
    const first = other();
    assert.equal([other(), other()], [first, first]);
  }
  // Two new prompts in a row: if they expected hits, both would go to the runner of `k1`.
  assert.equal([runnerOf('k3'), runnerOf('k4')].sort(), ['r1', 'r2']);
  assert.equal([runnerOf('k5', 'one'), runnerOf('k5', 'two')].sort(), ['r1', 'r2']);
});

test.run();
