/** The named character classes of regular expressions. */
import { type CharacterSet, charactersOf, complementOf, type Range, rangeOf, setOf } from './character-set.js';

const DIGITS: Range = [0x30, 0x39];
const UPPER: Range = [0x41, 0x5a];
const LOWER: Range = [0x61, 0x7a];
const ASCII = 0x7f;

/** Unicode has no decimal digits beyond it. */
const LAST_DIGIT = 0x1fbf9;

/**
 * `\d`, `\w` and `\s`, and their complements in capital letters. If Unicode has thousands of further characters, which
 * would slow the grammar, a class contains only those of ASCII: texts of the smaller class also match the larger one.
 * Each letter has one set, which is written once.
 */
export function escapedClass(letter: string): CharacterSet | null {
  switch (letter) {
    case 'd':
      return ASCII_DIGITS;
    case 'D':
      noDigits ??= complementOf(allDigits());
      return noDigits;
    case 'w':
      return WORD;
    case 'W':
      return NOT_WORD;
    case 's':
      return SPACES;
    case 'S':
      return NO_SPACES;
    default:
      return null;
  }
}

const ASCII_DIGITS: CharacterSet = [DIGITS];
const WORD = setOf([DIGITS, UPPER, LOWER, rangeOf('_')]);
const NOT_WORD = complementOf(setOf([...WORD, [ASCII + 1, 0x10ffff]]));
const SPACES = setOf([
  [0x09, 0x0d],
  [0x2000, 0x200a],
  ...charactersOf(' \u{85}\u{a0}\u{1680}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}'),
]);
const NO_SPACES = complementOf(SPACES);

/** Lazy, because it takes a while. */
let noDigits: CharacterSet | null = null;

function allDigits(): CharacterSet {
  const ranges: Range[] = [];
  for (let code = 0; code <= LAST_DIGIT; code++) {
    if (/\p{Nd}/u.test(String.fromCodePoint(code))) ranges.push([code, code]);
  }
  return setOf(ranges);
}

const PRINTED: Range = [0x21, 0x7e];
const CONTROLS: readonly Range[] = [
  [0, 0x1f],
  [ASCII, ASCII],
];

/** The classes of POSIX: `[:alpha:]` and others. */
export const NAMED_CLASSES: Readonly<Record<string, CharacterSet>> = {
  alnum: setOf([DIGITS, UPPER, LOWER]),
  alpha: setOf([UPPER, LOWER]),
  ascii: [[0, ASCII]],
  blank: charactersOf(' \t'),
  cntrl: setOf(CONTROLS),
  digit: [DIGITS],
  graph: [PRINTED],
  lower: [LOWER],
  print: [[0x20, 0x7e]],
  punct: complementOf(setOf([...CONTROLS, rangeOf(' '), DIGITS, UPPER, LOWER, [ASCII, 0x10ffff]])),
  space: setOf([[0x09, 0x0d], rangeOf(' ')]),
  upper: [UPPER],
  word: WORD,
  xdigit: setOf([DIGITS, [0x41, 0x46], [0x61, 0x66]]),
};
