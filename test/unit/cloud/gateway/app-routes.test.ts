// What is remembered of an app's runners, and for how long.
import { setImmediate as turn } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AppRoutes } from '../../../../ts/cloud/gateway/app-routes.js';
import type { DeployedApp } from '../../../../ts/cloud/gateway/directory.js';
import { PrefixRouter } from '../../../../ts/cloud/routing/prefix-router.js';

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

test('what is known of an app stays as long as the app, and no longer', async () => {
  const { routers, stop } = watchRouters();
  const routes = new AppRoutes();
  const kept = twoRunners('app_kept');
  const ask = (app: DeployedApp) => void routes.routeFor(app, Buffer.from('{}'));
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

test.run();
