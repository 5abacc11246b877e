/** Chooses among the runners of an app. */
import { type Decision, PrefixRouter } from '../routing/prefix-router.js';
import { promptBlocks } from '../routing/prompt-blocks.js';
import type { Grant } from './access.js';
import type { DeployedApp, RunnerAddress } from './directory.js';
import type { TokenCounts } from './usage.js';

/** The routing of one request. `choose` may run again if another runner takes over. */
export interface Route {
  choose(runners: readonly RunnerAddress[], running: (id: string) => number): RunnerAddress;
  /** Call when the completion begins. */
  begun(): void;
  /** Call at the end of the request; null without a usage report. */
  learn(report: TokenCounts | null): void;
}

export class AppRoutes {
  /** A router is large, so it must not outlive its app. */
  readonly #routers = new WeakMap<DeployedApp, PrefixRouter>();

  /** Returns null with fewer than two runners. */
  routeFor({ app, key }: Grant, body: Buffer): Route | null {
    const runners = app.runners();
    if (runners.length < 2) {
      // The cache of a single runner will have changed before there is a second one.
      this.#routers.delete(app);
      return null;
    }
    const router = this.#routerOf(app);
    router.keep(new Set(runners.map(({ id }) => id)));
    const blocks = promptBlocks(body, key?.known.id ?? null);
    let decision: Decision | null = null;
    return {
      choose: (among, running) => {
        decision?.finished(null);
        decision = router.choose(
          blocks,
          among.map(({ id, slots }) => ({ id, slots, running: running(id) })),
        );
        return among.find(({ id }) => id === decision?.id) as RunnerAddress;
      },
      begun: () => decision?.prefilled(),
      learn: (report) => decision?.finished(report),
    };
  }

  #routerOf(app: DeployedApp): PrefixRouter {
    let router = this.#routers.get(app);
    if (router === undefined) {
      router = new PrefixRouter();
      this.#routers.set(app, router);
    }
    return router;
  }
}
