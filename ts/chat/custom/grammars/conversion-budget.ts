/**
 * What the definitions of one request may cost together. They are converted on the thread that serves everybody, and a
 * short definition can be much work. Work is counted rather than timed, so that a request gets the same each time.
 */
import { NotEnforced } from './grammar-tree.js';

/** Of some 100 ns each. The text of the rules has one for each UTF-16 unit, so it is shorter than this. */
const MAX_STEPS = 2 ** 20;

export class ConversionBudget {
  #left = MAX_STEPS;

  /** Throws `NotEnforced` where no more are left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new NotEnforced();
  }
}
