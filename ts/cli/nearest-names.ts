/** Suggests known names of commands, options or files for a misspelled one. */

const MAX_NAMES = 3;
/** Shorter prefixes match too many names. */
const MIN_BEGINNING = 2;
const MAX_LENGTH = 100;

/** Returns at most three names: first those with one or two typos, then those that share a prefix with `word`. */
export function nearestNames(word: string, names: readonly string[]): string[] {
  const wanted = bare(word);
  if (wanted.length > MAX_LENGTH) return [];
  const distances = names.map((name) => ({ name, slips: slipsBetween(wanted, bare(name)) }));
  const fewest = Math.min(Math.max(1, Math.floor(wanted.length / 3)), ...distances.map(({ slips }) => slips));
  const close = distances.filter(({ slips }) => slips <= fewest).map(({ name }) => name);
  const parts = wanted.length < MIN_BEGINNING ? [] : names.filter((name) => isPartOf(wanted, bare(name)));
  return [...new Set([...close, ...parts])].slice(0, MAX_NAMES);
}

/** Leading dashes mark an option and are not part of its name. */
function bare(name: string): string {
  return name.replace(/^-+/, '').toLowerCase();
}

function isPartOf(wanted: string, name: string): boolean {
  return name.startsWith(wanted) || name.split('-').includes(wanted);
}

/**
 * Optimal string alignment distance: the number of deleted, inserted, replaced or transposed letters.
 */
function slipsBetween(left: string, right: string): number {
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
        swapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, above] = [above, current];
  }
  return at(above, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
