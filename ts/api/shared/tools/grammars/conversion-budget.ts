/**
 * Limits the work of converting all definitions of a request. Conversion runs on the main thread, and a short
 * definition can be expensive. Work is counted, not timed, so the result is deterministic.
 */
import { NotEnforced } from './grammar-tree.js';

/**
 * Steps of about 100 to 200 ns. The limit permits the longest definitions of plain characters, which take 31 steps per
 * character. Each UTF-16 unit of the rules is a step, which bounds their length.
 */
const MAX_STEPS = 2 ** 21;

export class ConversionBudget {
  #left = MAX_STEPS;

  /** Throws `NotEnforced` if the budget is used up. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new NotEnforced();
  }
}
