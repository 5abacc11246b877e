/** Which of an app's runners a request is given to, where there are several. */
import type { DeployedApp, RunnerAddress } from './directory.js';
import type { TokenCounts } from './usage-report.js';
import { leastActive } from './waiting-room.js';

export interface Route {
  choose(runners: readonly RunnerAddress[], running: (id: string) => number): RunnerAddress;
  /** To be called when the request is over; null where the runner has said nothing. */
  learn(report: TokenCounts | null): void;
}

export function routeFor(app: DeployedApp): Route | null {
  return app.runners().length < 2 ? null : { choose: leastActive, learn: () => undefined };
}
