/** When an engine whose process ended is started again, and when no longer. Knows no processes and no clock. */

const WINDOW_MS = 10 * 60_000;
/** So many ends within the window, and the next start would be no better. */
const MAX_ENDS = 5;
const MAX_DELAY_MS = 30_000;
/** Engines of several servers that ended together shall not start together. */
const JITTER = 0.2;

export class RestartPolicy {
  readonly #random: () => number;
  #ends: number[] = [];

  /** `random` draws from 0 to 1. */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /**
   * The engine ended at `now` (milliseconds that only grow), through an error of its own. How long to wait before it is
   * started again: not at all, then 1 s, 2 s, 4 s ..., or `null` for ever.
   */
  delayAfterFailure(now: number): number | null {
    this.#ends = this.#ends.filter((at) => now - at < WINDOW_MS);
    this.#ends.push(now);
    const { length } = this.#ends;
    if (length >= MAX_ENDS) return null;
    if (length === 1) return 0;
    const delay = Math.min(1000 * 2 ** (length - 2), MAX_DELAY_MS);
    return delay * (1 + JITTER * (2 * this.#random() - 1));
  }

  /** What failed is not what will be tried next. */
  forget(): void {
    this.#ends = [];
  }
}
