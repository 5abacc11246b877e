/** Whether a model fits into this computer's memory. */

export type Badge = 'gpu' | 'partly-gpu' | 'cpu' | 'too-large';

export interface Fit {
  badge: Badge;
  needBytes: number;
  /** What may be had now: of the GPUs where it runs on them, else of main memory. */
  haveBytes: number;
  /** Such as `Runs fully on the GPU`. */
  words: string;
}

export interface ExactFit extends Fit {
  /** Tokens that `kv` is for. */
  context: number;
  /** Bytes of the weights, the cache of `context` tokens, and what computing takes. */
  weights: number;
  kv: number;
  compute: number;
  /** The longest context that fits; 0: none does. */
  contextThatFits: number;
}

/** Memory in bytes. */
export interface Machine {
  freeBytes: number;
  totalBytes: number;
  gpus: readonly { name: string; freeBytes: number; totalBytes: number }[];
}
