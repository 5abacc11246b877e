/**
 * A grammar as trees, from a Lark grammar or a regular expression. A grammar is a set of rules. Each rule has a tree,
 * which may refer to other rules.
 */
import type { CharacterSet } from './character-set.js';

export type Tree =
  | { kind: 'set'; set: CharacterSet }
  | { kind: 'sequence'; parts: readonly Tree[] }
  | { kind: 'choice'; ways: readonly Tree[] }
  /** `most`: Infinity without a limit. */
  | { kind: 'repeat'; part: Tree; least: number; most: number }
  | { kind: 'rule'; name: string };

export interface RuleSet {
  start: string;
  rules: ReadonlyMap<string, Tree>;
}

/** Maximum nesting of groups, separately for Lark and for each expression. */
export const MAX_DEPTH = 64;
/** The largest finite repetition count. */
export const MAX_REPETITIONS = 2000;

export const EMPTY: Tree = { kind: 'sequence', parts: [] };

export function sequence(parts: readonly Tree[]): Tree {
  const flat = parts.flatMap((part) => (part.kind === 'sequence' ? part.parts : [part]));
  return flat.length === 1 ? (flat[0] as Tree) : { kind: 'sequence', parts: flat };
}

export function choice(ways: readonly Tree[]): Tree {
  const flat = ways.flatMap((way) => (way.kind === 'choice' ? way.ways : [way]));
  return flat.length === 1 ? (flat[0] as Tree) : { kind: 'choice', ways: flat };
}

/** Throws `NotEnforced` for counts beyond the limit. */
export function repeat(part: Tree, least: number, most: number): Tree {
  if (least > MAX_REPETITIONS || (most > MAX_REPETITIONS && most !== Infinity)) throw new NotEnforced();
  return { kind: 'repeat', part, least, most };
}

/** Thrown for a valid grammar that GBNF cannot express or that exceeds the limits. */
export class NotEnforced extends Error {}

/** Thrown for an invalid grammar. */
export class DefinitionError extends Error {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;

  /** `at`: the place in the definition. `reason`: a sentence without its full stop. */
  constructor(definition: string, at: number, reason: string) {
    const before = definition.slice(0, at);
    const line = before.split('\n').length;
    const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1;
    super(`line ${line}, column ${column}: ${reason}`);
    this.line = line;
    this.column = column;
  }
}

/** The text at this place, shortened for messages. */
export function found(definition: string, at: number): string {
  const [character] = definition.slice(at, at + 2);
  if (character === undefined) return 'the end';
  return character === '\n' ? 'the end of the line' : `\`${character}\``;
}
