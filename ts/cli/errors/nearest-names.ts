/** Suggests known names of commands, options or files for a misspelled one. */
import { distance } from 'fastest-levenshtein';

const MAX_NAMES = 3;
/** Shorter prefixes match too many names. */
const MIN_BEGINNING = 2;
const MAX_LENGTH = 100;

/** Returns at most three names: first those with one or two typos, then those that share a prefix with `word`. */
export function nearestNames(word: string, names: readonly string[]): string[] {
  const wanted = bare(word);
  if (wanted.length > MAX_LENGTH) return [];
  const distances = names.map((name) => ({ name, edits: editsBetween(wanted, bare(name)) }));
  const fewest = Math.min(Math.max(1, Math.floor(wanted.length / 3)), ...distances.map(({ edits }) => edits));
  const close = distances.filter(({ edits }) => edits <= fewest).map(({ name }) => name);
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

/** Two exchanged letters count as one edit. */
function editsBetween(one: string, other: string): number {
  const edits = distance(one, other);
  return edits === 2 && [...one].sort().join('') === [...other].sort().join('') ? 1 : edits;
}
