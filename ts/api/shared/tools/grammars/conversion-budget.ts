/**
 * Limits the work of converting all definitions of one request: they are converted on the main thread, and a short definition
 * can be expensive. Work is counted, not timed, so that the result is deterministic.
 */
import { NotEnforced } from './grammar-tree.js';

/**
 * Of some 100 to 200 ns each. As many plain characters as the definitions of a request may have take 31 steps each, and
 * that must be possible. The text of the rules has a step for each UTF-16 unit, so it is shorter than this.
 */
const MAX_STEPS = 2 ** 21;

export class ConversionBudget {
  #left = MAX_STEPS;

  /** Throws `NotEnforced` where no more are left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new NotEnforced();
  }
}
