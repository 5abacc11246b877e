/** Decides when an engine is restarted after a crash, and when it is given up. Pure: knows no processes and no clock. */

const WINDOW_MS = 10 * 60_000;
/** The engine is given up after this many ends within the window. */
const MAX_ENDS = 5;
const MAX_DELAY_MS = 30_000;
/** Spreads the restarts of servers after their engines ended together. */
const JITTER = 0.2;

export class RestartPolicy {
  #ends: number[] = [];

  /** `random` draws from 0 to 1. */
  constructor(private readonly random: () => number = Math.random) {}

  /**
   * The engine crashed at `now` (a monotonic clock, in milliseconds). Returns the delay of the restart: 0, then 1 s, 2 s,
   * 4 s ..., or `null` to give up.
   */
  delayAfterFailure(now: number): number | null {
    this.#ends = this.#ends.filter((at) => now - at < WINDOW_MS);
    this.#ends.push(now);
    const { length } = this.#ends;
    if (length >= MAX_ENDS) return null;
    if (length === 1) return 0;
    const delay = Math.min(1000 * 2 ** (length - 2), MAX_DELAY_MS);
    return delay * (1 + JITTER * (2 * this.random() - 1));
  }

  /** Forgets all ends, because the next start differs from those that failed. */
  forget(): void {
    this.#ends = [];
  }
}
