/** The control channel between a server and the process of an engine, beside the pipe of `frames.ts`. */
import type { NativeFailure, NativeStats } from '../../native/addon.js';
import type { ModelInfo } from '../engine.js';
import type { LoadOptions } from '../load-options.js';

/** To the engine. The first one is `open`. */
export type ControlMessage =
  | { do: 'open'; path: string; options: LoadOptions; beatMs: number; coreDumps: boolean }
  /** Ends the load, or frees the model; the process ends after it. */
  | { do: 'close' };

/** From the engine. */
export type StateMessage =
  /** It takes messages. */
  | { state: 'started' }
  | { state: 'loading'; fraction: number }
  | { state: 'ready'; info: ModelInfo }
  | { state: 'failed'; failure: WireError }
  /** At intervals while it is ready, and asked for by nobody: the process lives, and this is what its engine does. */
  | { state: 'beat'; stats: NativeStats };

/** An error as plain data. */
export interface WireError extends NativeFailure {
  param: string | null;
  retryAfterSeconds?: number | undefined;
}
