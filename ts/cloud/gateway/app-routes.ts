/** Which of an app's runners a request is given to, where there are several. */
import { type Decision, PrefixRouter } from '../routing/prefix-router.js';
import { promptBlocks } from '../routing/prompt-blocks.js';
import type { DeployedApp, RunnerAddress } from './directory.js';
import type { TokenCounts } from './usage-report.js';

/** The choice of a runner for one request. It may be made again, when another runner takes the request. */
export interface Route {
  choose(runners: readonly RunnerAddress[], running: (id: string) => number): RunnerAddress;
  /** To be called when the completion has begun. */
  begun(): void;
  /** To be called when the request is over; null where the runner has said nothing. */
  learn(report: TokenCounts | null): void;
}

export class AppRoutes {
  /** A router is large: it goes with its app. */
  readonly #routers = new WeakMap<DeployedApp, PrefixRouter>();

  /** Returns null where there is nothing to choose. */
  routeFor(app: DeployedApp, body: Buffer): Route | null {
    const runners = app.runners();
    if (runners.length < 2) {
      // What is known of a runner that is alone is of no use by the time that there is another.
      this.#routers.delete(app);
      return null;
    }
    const router = this.#routerOf(app);
    router.keep(new Set(runners.map(({ id }) => id)));
    const blocks = promptBlocks(body);
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
