import { invalidValue } from '../errors.js';

/** Throws `invalid_value` naming `name[i]` if a token is not in the vocabulary. */
export function checkTokens(tokens: Iterable<number>, name: string, vocabularySize: number): void {
  let index = 0;
  for (const token of tokens) {
    if (token < 0 || token >= vocabularySize) {
      const param = `${name}[${index}]`;
      const range = `the vocabulary goes from 0 to ${vocabularySize - 1}`;
      throw invalidValue(`\`${param}\` is the token ${token}, but ${range}.`, param);
    }
    index += 1;
  }
}
