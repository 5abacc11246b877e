/** What the control plane and a runner's process tell each other. */
import type { LoadOptions } from '../../engine/load-options.js';
import type { ErrorCode } from '../../errors.js';

/** A model that a runner loads. */
export interface RunnerModelFile {
  modelPath: string;
  options: LoadOptions;
}

/** In a file that the process is given the path of, because it may hold more than an argument can. */
export interface RunnerConfig extends RunnerModelFile {
  id: string;
  /** Drawn for each start: by it, a control plane knows that a process is the one that it has in its database. */
  bootId: string;
  /** Where requests are taken. */
  socketPath: string;
  /** Where a control plane listens to the state. */
  controlPath: string;
  /** The models beside the first one. */
  others: readonly RunnerModelFile[];
  /** Where responses are kept, together with all runners of the app. */
  responsesFolder: string;
  /** Set before anything else, where the process was not started with them. */
  environment?: Readonly<Record<string, string>>;
  drainMs: number;
  /** Whether it ends with the process that started it, whose end it sees at its standard input. */
  endsWithParent: boolean;
  /** It ends when no control plane has listened to it for as long. */
  orphanMs: number;
}

export interface RunnerModel {
  id: string;
  generates: boolean;
  pooling: string;
}

/** A line of JSON on the control socket: when a control plane connects, and after each change. */
export interface RunnerStatus {
  bootId: string;
  pid: number;
  state: 'loading' | 'ready' | 'draining' | 'failed';
  /** How much of the model is loaded, 0 to 1. */
  fraction: number;
  /** All of them, when they are loaded. */
  models: readonly RunnerModel[];
  /** Why it failed. */
  failure: { code: ErrorCode; message: string } | null;
}
