import { seededRandom, seedOf } from '../../../test/support/seeded-random.js';
import { randomWords } from '../../random-words.js';

/** What the models' chat template adds to a user's message, the beginning of the answer included, in tokens. */
export const userTemplateTokens = 8;
const systemTemplateTokens = 5;

/** Makes texts that differ from their first words on, so that no prompt helps with another; every run has the same. */
export class Prompts {
  readonly #random: () => number;

  constructor(scenario: string, round: number) {
    this.#random = seededRandom(seedOf(`${scenario} ${round}`));
  }

  /** @param tokens of the prompt that consists of this message alone */
  user(tokens: number): string {
    return randomWords(this.#random, tokens - userTemplateTokens);
  }

  /** @param tokens of the prompt's beginning that consists of this message */
  system(tokens: number): string {
    return randomWords(this.#random, tokens - systemTemplateTokens);
  }
}
