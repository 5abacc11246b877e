/**
 * Each of several completions may repeat what is long. So a request of a few megabytes could have a reply of hundreds, which
 * the server would have to make in one piece.
 */
import { ChasquiError } from '../../../errors.js';

/** In UTF-16 units of JSON; more than a single request can bring about. */
const MAX_REPEATED = 32 * 2 ** 20;

export interface Repeats {
  completions: number;
  /** Of all that they repeat, as JSON, in UTF-16 units. */
  length: number;
  /** What each of them repeats, and how to do without, in the words of the message. */
  what: string;
  remedy: string;
  /** Which field of the request says how many there are. */
  param: 'n' | 'prompt';
}

/** @throws {ChasquiError} `invalid_value` */
export function limitRepeats({ completions, length, what, remedy, param }: Repeats): void {
  if (length <= MAX_REPEATED) return;
  throw new ChasquiError(
    'invalid_value',
    `Each of the ${completions} completions would repeat ${what}, ${length} characters in all, ` +
      `but at most ${MAX_REPEATED} are sent: ask for fewer at a time, or ${remedy}.`,
    param,
  );
}

/** Of all these as JSON, in UTF-16 units. Many of them may be the same. */
export function lengthOfAll(texts: readonly string[]): number {
  const lengths = new Map([...new Set(texts)].map((text) => [text, JSON.stringify(text).length]));
  return texts.reduce((sum, text) => sum + (lengths.get(text) as number), 0);
}
