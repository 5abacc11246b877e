/** Says when an engine hangs. Knows no processes and no clock. */
import type { NativeStats } from '../../native/addon.js';

/** A step may take so many times the longest one seen. */
const SLOWEST = 20;
/** Drivers compile kernels in the first steps. */
const FIRST_STEPS = 16;
const FIRST_STEPS_LIMIT_MS = 10 * 60_000;

export class Watchdog {
  readonly #stepTimeoutMs: number;
  #longestStepMs = 0;
  #steps = 0;

  /** `stepTimeoutMs`: how long a step may take, and how long the process may give no sign of life; 0 is for ever. */
  constructor(stepTimeoutMs: number) {
    this.#stepTimeoutMs = stepTimeoutMs;
  }

  /** How it hangs, in words, or `null`. `silentMs`: how long ago `stats` came. */
  check(stats: NativeStats | null, silentMs: number): string | null {
    if (this.#stepTimeoutMs === 0) return null;
    if (silentMs > this.#stepTimeoutMs) return `it gave no sign of life for ${seconds(silentMs)} s`;
    if (stats === null) return null;
    this.#observe(stats);
    if (stats.stepAgeMs > this.#limitMs()) return `a step has taken ${seconds(stats.stepAgeMs)} s`;
    return null;
  }

  /** Steps are seen as old as they were when counts were sent, which is enough to know how long they may well take. */
  #observe({ stepAgeMs, decodeSteps }: NativeStats): void {
    if (decodeSteps > this.#steps) this.#longestStepMs = Math.max(this.#longestStepMs, this.#lastAgeMs);
    this.#steps = decodeSteps;
    this.#lastAgeMs = stepAgeMs;
  }

  #lastAgeMs = 0;

  #limitMs(): number {
    const usual = Math.max(this.#stepTimeoutMs, SLOWEST * this.#longestStepMs);
    return this.#steps < FIRST_STEPS ? Math.max(usual, FIRST_STEPS_LIMIT_MS) : usual;
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
