/** Deployed apps as the gateway sees them. */
import type { ErrorCode } from '../../errors.js';

/** Consulted once per request. */
export interface AppDirectory {
  /** Returns the same object for the lifetime of an app, or null if the app does not exist. */
  find(org: string, app: string): DeployedApp | null;
}

/** A failure that lasts until the next deployment or restart. */
export interface AppFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface AppLimits {
  /** Maximum wait for a runner, in milliseconds. */
  readonly startMs: number;
  /** Maximum time at a runner, in milliseconds; 0: unlimited. */
  readonly requestMs: number;
  /** Maximum number of requests, running and waiting. */
  readonly requests: number;
}

/** Input of the autoscaler. */
export interface Demand {
  readonly running: number;
  /** Requests without a runner. Wakes a sleeping app. */
  readonly queued: number;
}

export interface DeployedApp {
  readonly id: string;
  readonly org: string;
  readonly name: string;
  /** `private`: requires a key of this app or its organisation. */
  readonly auth: 'private' | 'public';
  /** Whether keys are also accepted as `Authorization: Bearer`. */
  readonly bearer: boolean;
  readonly revision: number | null;
  /** Reply to all requests, always a 4xx. */
  readonly failure: AppFailure | null;
  /** Progress while no runner is ready, such as `fetching weights 43 %`. */
  readonly progress: string | null;
  readonly limits: AppLimits;
  runners(): readonly RunnerAddress[];
  /** `runningAt`: current number of requests at a runner. */
  setDemand(demand: Demand, runningAt: (runner: string) => number): void;
  /** Calls `listener` when runners, failure or progress change. Returns a function that stops it. */
  onChange(listener: () => void): () => void;
}

export interface RunnerAddress {
  readonly id: string;
  readonly socketPath: string;
  readonly slots: number;
  reportFailure(reason: string): void;
}
