import { seededRandom, seedOf } from '../../../test/support/seeded-random.js';
import { randomWords } from '../../random-words.js';

/** Tokens that the chat template adds to a user message, including the start of the reply. */
export const userTemplateTokens = 8;
const systemTemplateTokens = 5;

/** Generates texts that differ from the first word on, so prompts share no prefix. Every run generates the same texts. */
export class Prompts {
  readonly #random: () => number;

  constructor(scenario: string, round: number) {
    this.#random = seededRandom(seedOf(`${scenario} ${round}`));
  }

  /** @param tokens length of a prompt with only this message */
  user(tokens: number): string {
    return randomWords(this.#random, tokens - userTemplateTokens);
  }

  /** @param tokens length of the prompt prefix that consists of this message */
  system(tokens: number): string {
    return randomWords(this.#random, tokens - systemTemplateTokens);
  }
}
