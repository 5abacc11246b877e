/** What the gateway needs to know of the apps that are deployed. Who keeps them is not its concern. */
import type { ErrorCode } from '../../errors.js';

/** Where the gateway looks up the app that a request is for. It is asked once for every request. */
export interface AppDirectory {
  /** Returns the same object for an app as long as the app is there, and null for one that does not exist. */
  find(org: string, app: string): DeployedApp | null;
}

/** A failure that lasts until somebody deploys or restarts: no use in trying again before that. */
export interface AppFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Limits that the owner of an app sets, in milliseconds but for `queue`. */
export interface AppLimits {
  /** How long a request may wait for a runner. */
  readonly startMs: number;
  /** How long a request may take from when a runner has it; 0 is for ever. */
  readonly requestMs: number;
  /** How many requests may wait for a runner. */
  readonly queue: number;
}

/** What an app has to do now. Scaling reads it. */
export interface Demand {
  /** Requests that a runner has. */
  readonly running: number;
  /** Requests that wait for a runner. More than none wakes an app that sleeps. */
  readonly queued: number;
}

/** An app, as the gateway sees it: an address, who may call it, and the runners behind it. */
export interface DeployedApp {
  readonly id: string;
  readonly org: string;
  readonly name: string;
  /** `private`: only with a key of this app or its organisation. */
  readonly auth: 'private' | 'public';
  /** The number of the active revision; null when none is. */
  readonly revision: number | null;
  /** Every request is refused with it. Its code's status is a 4xx. */
  readonly failure: AppFailure | null;
  /** What the runners are at while none takes requests, such as `fetching weights 43 %`. */
  readonly progress: string | null;
  readonly limits: AppLimits;
  /** The runners that take requests now. */
  runners(): readonly RunnerAddress[];
  setDemand(demand: Demand): void;
  /** Calls back when runners, failure or progress changed, until the function that it returns is called. */
  onChange(listener: () => void): () => void;
}

/** A runner that takes requests. */
export interface RunnerAddress {
  readonly id: string;
  /** The Unix socket that it listens on. */
  readonly socketPath: string;
  /** How many requests it computes at once. */
  readonly slots: number;
  /** Called by the gateway when a connection to the runner failed. */
  reportFailure(reason: string): void;
}
