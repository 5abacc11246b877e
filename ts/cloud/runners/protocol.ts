/** Messages between the control plane and a runner's process. */
import type { LoadOptions } from '../../engine/load-options.js';
import type { ErrorCode } from '../../errors.js';

export interface RunnerModelFile {
  modelPath: string;
  options: LoadOptions;
}

/** Passed as a file, because it may exceed the size limit of arguments. */
export interface RunnerConfig extends RunnerModelFile {
  id: string;
  /** Random per start. Identifies the process after a restart of the control plane. */
  bootId: string;
  socketPath: string;
  controlPath: string;
  others: readonly RunnerModelFile[];
  /** Stored responses, shared by all runners of the app. */
  responsesFolder: string;
  /** Environment variables for containers; set first. */
  environment?: Readonly<Record<string, string>>;
  drainMs: number;
  /** Exit when standard input ends, which happens when the parent exits. */
  endsWithParent: boolean;
  /** Exit after this time without a control plane. */
  orphanMs: number;
}

export interface RunnerModel {
  id: string;
  generates: boolean;
  pooling: string;
}

/** One JSON line on the control socket, sent on connection and after each change. */
export interface RunnerStatus {
  bootId: string;
  pid: number;
  state: 'loading' | 'ready' | 'draining' | 'failed';
  /** Loading progress, from 0 to 1. */
  fraction: number;
  /** Empty until all are loaded. */
  models: readonly RunnerModel[];
  failure: { code: ErrorCode; message: string } | null;
}
