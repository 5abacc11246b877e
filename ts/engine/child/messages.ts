/** The control channel between a server and a child process, beside the pipe of `frames.ts`. */
import type { NativeFailure, NativeStats } from '../../native/addon.js';
import type { ModelInfo } from '../engine-types.js';
import type { LoadOptions } from '../load-options.js';

/** To the process. The first one is `open`. */
export type ControlMessage =
  | { do: 'open'; path: string; options: LoadOptions; beatMs: number; coreDumps: boolean }
  /** Aborts the load, or frees the model; then the process ends. */
  | { do: 'close' };

/** From the process. */
export type StateMessage =
  /** The process accepts messages. */
  | { state: 'started' }
  | { state: 'loading'; fraction: number }
  /** `info`: of a worker. */
  | { state: 'ready'; info: ModelInfo | null }
  | { state: 'failed'; failure: WireError }
  /** Heartbeat, every `beatMs` while the process is ready. `stats`: of a worker. */
  | { state: 'beat'; stats: NativeStats | null };

/** With these the preparation process ends itself: its work does not end, or takes too much memory. */
export const EXIT_CODES = { stuck: 70, memory: 71 } as const;

/** An error as plain data. */
export interface WireError extends NativeFailure {
  param: string | null;
  retryAfterSeconds?: number | undefined;
}
