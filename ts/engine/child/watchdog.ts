/** Says when an engine hangs. Knows no processes and no clock. */
import type { NativeStats } from '../../native/addon.js';

/** A step may take so many times the longest one seen. */
const SLOWEST = 20;
/** Drivers compile kernels in the first steps. */
const FIRST_STEPS = 16;
const FIRST_STEPS_LIMIT_MS = 10 * 60_000;
/** More time than this is not counted from check to check: the machine, or both processes, were suspended, or starved. */
const MAX_PER_CHECK_MS = 2000;

export class Watchdog {
  readonly #stepTimeoutMs: number;
  #longestStepMs = 0;
  #decodeSteps = 0;
  /** What the last counts said of the running step, and how much of it counts. */
  #reportedAgeMs = 0;
  #ageMs = 0;
  #silentMs = 0;

  /** `stepTimeoutMs`: how long a step may take, and how long the process may give no sign of life; 0 is for ever. */
  constructor(stepTimeoutMs: number) {
    this.#stepTimeoutMs = stepTimeoutMs;
  }

  /**
   * How it hangs, in words, or `null`; called about once a second. `stats`: the latest counts, and whether they have come
   * since the last check, which was `passedMs` ago.
   */
  check(stats: NativeStats | null, isNew: boolean, passedMs: number): string | null {
    if (this.#stepTimeoutMs === 0) return null;
    this.#silentMs = isNew ? 0 : this.#silentMs + Math.min(passedMs, MAX_PER_CHECK_MS);
    if (this.#silentMs > this.#stepTimeoutMs) return `it gave no sign of life for ${seconds(this.#silentMs)} s`;
    if (stats === null) return null;
    if (isNew) this.#observe(stats);
    if (this.#ageMs > this.#limitMs()) return `a step has taken ${seconds(this.#ageMs)} s`;
    return null;
  }

  /** Steps are seen as old as they were when counts were sent, which is enough to know how long they may well take. */
  #observe({ stepAgeMs, decodeSteps }: NativeStats): void {
    const isSame = decodeSteps === this.#decodeSteps && stepAgeMs >= this.#reportedAgeMs;
    if (decodeSteps > this.#decodeSteps) this.#longestStepMs = Math.max(this.#longestStepMs, this.#ageMs);
    const grownMs = isSame ? stepAgeMs - this.#reportedAgeMs : stepAgeMs;
    this.#ageMs = (isSame ? this.#ageMs : 0) + Math.min(grownMs, MAX_PER_CHECK_MS);
    this.#reportedAgeMs = stepAgeMs;
    this.#decodeSteps = decodeSteps;
  }

  #limitMs(): number {
    const usual = Math.max(this.#stepTimeoutMs, SLOWEST * this.#longestStepMs);
    return this.#decodeSteps < FIRST_STEPS ? Math.max(usual, FIRST_STEPS_LIMIT_MS) : usual;
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
