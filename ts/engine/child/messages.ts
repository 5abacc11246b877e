/** The control channel between a server and the process of an engine, or of its preparation, beside the pipe of `frames.ts`. */
import type { NativeFailure, NativeStats } from '../../native/addon.js';
import type { ModelInfo } from '../engine-types.js';
import type { LoadOptions } from '../load-options.js';

/** To the process. The first one is `open`. */
export type ControlMessage =
  | { do: 'open'; path: string; options: LoadOptions; beatMs: number; coreDumps: boolean }
  /** Ends the load, or frees the model; the process ends after it. */
  | { do: 'close' };

/** From the process. */
export type StateMessage =
  /** It takes messages. */
  | { state: 'started' }
  | { state: 'loading'; fraction: number }
  /** `info`: an engine's. */
  | { state: 'ready'; info: ModelInfo | null }
  | { state: 'failed'; failure: WireError }
  /** At intervals while it is ready, and asked for by nobody: the process lives, and this is what its engine does. */
  | { state: 'beat'; stats: NativeStats | null };

/** With what the process of preparation ends itself: what it prepares does not end, or takes too much memory. */
export const EXIT_CODES = { stuck: 70, memory: 71 } as const;

/** An error as plain data. */
export interface WireError extends NativeFailure {
  param: string | null;
  retryAfterSeconds?: number | undefined;
}
