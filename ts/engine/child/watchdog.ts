/** Detects that an engine hangs. Pure: knows no processes and no clock. */
import type { NativeStats } from '../../native/addon.js';

/** A step may take this many times as long as the longest one so far. */
const SLOWEST = 20;
/** In the first steps drivers compile kernels. */
const FIRST_STEPS = 16;
const FIRST_STEPS_LIMIT_MS = 10 * 60_000;
/** A longer time between checks counts as this: the machine or the processes were suspended. */
const MAX_PER_CHECK_MS = 2000;

export class Watchdog {
  #longestStepMs = 0;
  #decodeSteps = 0;
  /** Age of the running step by the last heartbeat, and the part of it that counts. */
  #reportedAgeMs = 0;
  #ageMs = 0;
  #silentMs = 0;

  /** `stepTimeoutMs`: maximal duration of a step, and of silence; 0: no limit. */
  constructor(private readonly stepTimeoutMs: number) {}

  /**
   * Returns how the engine hangs, or `null`. Call it about once a second. `stats` are those of the latest heartbeat; `isNew`:
   * it came after the last check, which was `passedMs` ago.
   */
  check(stats: NativeStats | null, isNew: boolean, passedMs: number): string | null {
    if (this.stepTimeoutMs === 0) return null;
    this.#silentMs = isNew ? 0 : this.#silentMs + Math.min(passedMs, MAX_PER_CHECK_MS);
    if (this.#silentMs > this.stepTimeoutMs) return `it gave no sign of life for ${seconds(this.#silentMs)} s`;
    if (stats === null) return null;
    if (isNew) this.#observe(stats);
    if (this.#ageMs > this.#limitMs()) return `a step has taken ${seconds(this.#ageMs)} s`;
    return null;
  }

  /** Steps are longer than their age at the last heartbeat, but that is exact enough. */
  #observe({ stepAgeMs, decodeSteps }: NativeStats): void {
    const isSame = decodeSteps === this.#decodeSteps && stepAgeMs >= this.#reportedAgeMs;
    if (decodeSteps > this.#decodeSteps) this.#longestStepMs = Math.max(this.#longestStepMs, this.#ageMs);
    const grownMs = isSame ? stepAgeMs - this.#reportedAgeMs : stepAgeMs;
    this.#ageMs = (isSame ? this.#ageMs : 0) + Math.min(grownMs, MAX_PER_CHECK_MS);
    this.#reportedAgeMs = stepAgeMs;
    this.#decodeSteps = decodeSteps;
  }

  #limitMs(): number {
    const usual = Math.max(this.stepTimeoutMs, SLOWEST * this.#longestStepMs);
    return this.#decodeSteps < FIRST_STEPS ? Math.max(usual, FIRST_STEPS_LIMIT_MS) : usual;
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
