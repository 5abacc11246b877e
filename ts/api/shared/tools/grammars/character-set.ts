/** Sets of characters: inclusive ranges of code points, sorted and neither overlapping nor adjacent. */

export type Range = readonly [first: number, last: number];
export type CharacterSet = readonly Range[];

const LAST = 0x10ffff;
/** Larger sets are not searched for letters. */
export const MAX_FOLDED = 256;
/** Characters that are equal except for case, but not by toLowerCase and toUpperCase. */
const FOLDED_TOO: Readonly<Record<string, number>> = { k: 0x212a, s: 0x17f, å: 0x212b };

export function setOf(ranges: Iterable<Range>): CharacterSet {
  const set: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = set.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else set.push([first, last]);
  }
  return set;
}

export function charactersOf(text: string): CharacterSet {
  return setOf([...text].map((character) => rangeOf(character)));
}

export function rangeOf(character: string): Range {
  const code = character.codePointAt(0) as number;
  return [code, code];
}

export function complementOf(set: CharacterSet): CharacterSet {
  const others: Range[] = [];
  let next = 0;
  for (const [first, last] of set) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return others;
}

export function intersectionOf(one: CharacterSet, other: CharacterSet): CharacterSet {
  const common: Range[] = [];
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const [a, b] = one[i] as Range;
    const [c, d] = other[j] as Range;
    if (Math.max(a, c) <= Math.min(b, d)) common.push([Math.max(a, c), Math.min(b, d)]);
    if (b < d) i += 1;
    else j += 1;
  }
  return common;
}

export function sizeOf(set: CharacterSet): number {
  return set.reduce((size, [first, last]) => size + last - first + 1, 0);
}

/** Returns the set with its letters in both cases, or null if it is too large. */
export function withBothCases(set: CharacterSet): CharacterSet | null {
  if (sizeOf(set) > MAX_FOLDED) return null;
  const ranges: Range[] = [...set];
  for (const [first, last] of set) {
    for (let code = first; code <= last; code++) {
      for (const other of otherCasesOf(String.fromCodePoint(code))) ranges.push([other, other]);
    }
  }
  return setOf(ranges);
}

function otherCasesOf(character: string): number[] {
  const lower = character.toLowerCase();
  const forms = [lower, character.toUpperCase()].filter((form) => [...form].length === 1);
  const more = FOLDED_TOO[lower];
  return [...forms.map((form) => form.codePointAt(0) as number), ...(more === undefined ? [] : [more])];
}

/** All characters except line breaks: the meaning of `.`. */
export const ANY_IN_LINE = complementOf(charactersOf('\n'));
export const ANY = complementOf([]);
