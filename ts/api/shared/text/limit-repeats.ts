/**
 * Limits repeated texts in a reply. Each choice may repeat a long text, so a request of a few megabytes could cause a
 * reply of hundreds, which the server must build in one piece.
 */
import { invalidValue } from '../../../errors.js';

/** In UTF-16 units of JSON. A single choice cannot exceed it. */
const MAX_REPEATED = 32 * 2 ** 20;

export interface Repeats {
  completions: number;
  /** Total length of the repeated texts as JSON, in UTF-16 units. */
  length: number;
  /** The repeated text and how to avoid it, for the error message. */
  what: string;
  remedy: string;
  /** The request field that determines the number of completions. */
  param: 'n' | 'prompt';
}

/** @throws {ChasquiError} `invalid_value` */
export function limitRepeats({ completions, length, what, remedy, param }: Repeats): void {
  if (length <= MAX_REPEATED) return;
  throw invalidValue(
    `Each of the ${completions} completions would repeat ${what}, ${length} characters in total, ` +
      `but the limit is ${MAX_REPEATED}. Request fewer at a time, or ${remedy}.`,
    param,
  );
}

/** Total length of the texts as JSON, in UTF-16 units. Many texts may be equal. */
export function lengthOfAll(texts: readonly string[]): number {
  const lengths = new Map([...new Set(texts)].map((text) => [text, JSON.stringify(text).length]));
  return texts.reduce((sum, text) => sum + (lengths.get(text) as number), 0);
}
