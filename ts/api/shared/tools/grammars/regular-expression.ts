/**
 * Converts regular expressions of Rust and Python to trees. The whole text must match. Constructs that depend on the
 * matching algorithm (lookaround, lazy and possessive quantifiers, backreferences) throw `NotEnforced`.
 */
import { escapedClass, NAMED_CLASSES } from './character-classes.js';
import {
  ANY,
  ANY_IN_LINE,
  type CharacterSet,
  complementOf,
  MAX_FOLDED,
  type Range,
  rangeOf,
  setOf,
  sizeOf,
  withBothCases,
} from './character-set.js';
import type { ConversionBudget } from './conversion-budget.js';
import {
  choice,
  DefinitionError,
  EMPTY,
  found,
  MAX_DEPTH,
  NotEnforced,
  repeat,
  sequence,
  type Tree,
} from './grammar-tree.js';

export interface ExpressionPlace {
  definition: string;
  /** Offsets of the expression in the definition. */
  start: number;
  end: number;
  flags: string;
  /** Whether the expression matches the whole text, so anchors at its ends have no effect. */
  isWhole: boolean;
  budget: ConversionBudget;
}

export function parseExpression(place: ExpressionPlace): Tree {
  return new ExpressionParser(place).parse();
}

const FLAGS = new Set('imsxu');
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', a: '\x07' };
const HEX_LENGTHS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

const COUNTS = /\{(\d{1,9})\}|\{(\d{0,9}),(\d{0,9})\}/y;
const NAMED_CLASS = /\[:(\^?)([a-z]{1,10}):\]/y;
const SET_OPERATION = /&&|--|~~|\[/y;
const PLAIN_GROUP = /\?(?::|P?<[A-Za-z_]\w{0,99}>)/y;
const COMMENT = /\(\?#[^)]*\)/y;
const FLAG_GROUP = /\?([A-Za-z]{0,9})(?:-([A-Za-z]{1,9}))?([:)])/y;
const SPACE = /(?:\s|#[^\n]*)+/y;

/** Steps of the budget. */
const STEPS_OF_ATOM = 10;
const STEPS_OF_RANGE = 8;
const STEPS_OF_FOLDED = 16;

class ExpressionParser {
  readonly #text: string;
  readonly #end: number;
  readonly #isWhole: boolean;
  readonly #budget: ConversionBudget;
  #at: number;
  #flags: ReadonlySet<string>;
  #depth = 0;

  constructor({ definition, start, end, flags, isWhole, budget }: ExpressionPlace) {
    // Sliced, so that no pattern matches beyond the end of the expression.
    this.#text = definition.slice(0, end);
    this.#at = start;
    this.#end = end;
    this.#isWhole = isWhole;
    this.#budget = budget;
    this.#flags = new Set(flags);
    for (const flag of flags) if (!FLAGS.has(flag)) throw new NotEnforced();
  }

  parse(): Tree {
    const tree = this.#parseWays();
    if (this.#at < this.#end) throw this.#error('expected `(` before `)`');
    return tree;
  }

  #parseWays(): Tree {
    const ways = [this.#parseSequence()];
    while (this.#take('|')) ways.push(this.#parseSequence());
    return choice(ways);
  }

  #parseSequence(): Tree {
    const parts: Tree[] = [];
    this.#skipStartAnchors();
    for (;;) {
      this.#skipSpace();
      if (this.#at >= this.#end || this.#isNext('|') || this.#isNext(')')) return sequence(parts);
      if (this.#skipEndAnchor()) return sequence(parts);
      const part = this.#parseAtom();
      if (part !== null) parts.push(this.#parseQuantifier(part));
    }
  }

  #parseAtom(): Tree | null {
    this.#budget.spend(STEPS_OF_ATOM);
    const at = this.#at;
    const character = String.fromCodePoint(this.#text.codePointAt(at) as number);
    if (character === '(') return this.#parseGroup();
    if (character === '[') return this.#parseClass();
    if (/[*+?]/.test(character) || this.#counts() !== null) throw this.#error('expected something to repeat');
    this.#at += character.length;
    if (character === '.') return { kind: 'set', set: this.#flags.has('s') ? ANY : ANY_IN_LINE };
    if (character === '^' || character === '$') throw new NotEnforced();
    if (character !== '\\') return this.#setOf([rangeOf(character)]);
    const escaped = this.#parseEscape();
    return typeof escaped === 'string' ? this.#setOf([rangeOf(escaped)]) : { kind: 'set', set: escaped };
  }

  #parseGroup(): Tree | null {
    if (this.#match(COMMENT) !== null) return null;
    const opened = this.#at;
    this.#at += 1;
    const outer = this.#flags;
    if (this.#isNext('?') && this.#match(PLAIN_GROUP) === null) {
      const [, on = '', off = '', end] = this.#match(FLAG_GROUP) ?? [];
      if (end === undefined || (on === '' && off === '')) throw new NotEnforced();
      this.#setFlags(on, off);
      // Flags apply up to the end of the enclosing group.
      if (end === ')') return null;
    }
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotEnforced();
    const tree = this.#parseWays();
    this.#depth -= 1;
    if (!this.#take(')')) throw this.#error(`expected \`)\` for the group that begins at ${this.#placeOf(opened)}`);
    this.#flags = outer;
    return tree;
  }

  #setFlags(on: string, off: string): void {
    for (const flag of on + off) if (!FLAGS.has(flag)) throw new NotEnforced();
    this.#flags = new Set([...this.#flags, ...on].filter((flag) => !off.includes(flag)));
  }

  #parseQuantifier(part: Tree): Tree {
    this.#skipSpace();
    const counts = this.#parseCounts();
    if (counts === null) return part;
    if (counts[1] < counts[0]) throw this.#error('the repetition ends before it begins');
    this.#skipSpace();
    // Lazy, possessive, or a repetition of a repetition.
    if (/[*+?]/.test(this.#text[this.#at] ?? '') || this.#counts() !== null) throw new NotEnforced();
    return repeat(part, ...counts);
  }

  #parseCounts(): [least: number, most: number] | null {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    const matched = this.#counts();
    if (matched === null) return null;
    this.#at += matched[0].length;
    const [, times, least, most] = matched;
    if (times !== undefined) return [Number(times), Number(times)];
    return [Number(least), most ? Number(most) : Infinity];
  }

  /** Braces without counts are literal characters. */
  #counts(): RegExpExecArray | null {
    COUNTS.lastIndex = this.#at;
    const matched = COUNTS.exec(this.#text);
    return matched?.[0] === '{,}' ? null : matched;
  }

  #parseClass(): Tree {
    const opened = this.#at;
    this.#at += 1;
    const isNegated = this.#take('^');
    const ranges: Range[] = [];
    for (let isFirst = true; isFirst || !this.#isNext(']'); isFirst = false) {
      if (this.#at >= this.#end)
        throw this.#error(`expected \`]\` for the class that begins at ${this.#placeOf(opened)}`);
      const item = this.#parseClassItem();
      this.#budget.spend(STEPS_OF_RANGE * item.length);
      for (const range of item) ranges.push(range);
    }
    this.#at += 1;
    const set = this.#folded(setOf(ranges));
    return { kind: 'set', set: isNegated ? complementOf(set) : set };
  }

  #parseClassItem(): CharacterSet {
    const [, not, name] = this.#match(NAMED_CLASS) ?? [];
    if (name !== undefined) {
      const named = Object.hasOwn(NAMED_CLASSES, name) ? NAMED_CLASSES[name] : undefined;
      if (named === undefined) throw this.#error(`there is no class \`[:${name}:]\``);
      return not ? complementOf(named) : named;
    }
    const first = this.#parseClassCharacter();
    const isRange = this.#isNext('-') && this.#at + 1 < this.#end && this.#text[this.#at + 1] !== ']';
    if (typeof first !== 'string') return first;
    if (!isRange) return [rangeOf(first)];
    const at = this.#at;
    this.#at += 1;
    const last = this.#parseClassCharacter();
    if (typeof last !== 'string') return setOf([rangeOf(first), rangeOf('-'), ...last]);
    const range: Range = [rangeOf(first)[0], rangeOf(last)[0]];
    if (range[0] > range[1]) throw this.#error('the range ends before it begins', at);
    return [range];
  }

  #parseClassCharacter(): string | CharacterSet {
    SET_OPERATION.lastIndex = this.#at;
    if (SET_OPERATION.test(this.#text)) throw new NotEnforced();
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) as number);
    if (this.#flags.has('x') && /\s/.test(character)) throw new NotEnforced();
    this.#at += character.length;
    return character === '\\' ? this.#parseEscape() : character;
  }

  #parseEscape(): string | CharacterSet {
    const code = this.#at < this.#end ? this.#text.codePointAt(this.#at) : undefined;
    if (code === undefined) throw this.#error('expected a character after the backslash');
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    const named = escapedClass(character);
    if (named !== null) return named;
    const control = CONTROLS[character];
    if (control !== undefined) return control;
    const length = HEX_LENGTHS[character];
    if (length !== undefined) return this.#parseCode(length);
    // Includes word boundaries, references to groups and Unicode properties.
    if (/[\w<>]/.test(character)) throw new NotEnforced();
    return character;
  }

  #parseCode(length: number): string {
    const pattern = this.#isNext('{') ? /\{([\da-fA-F]{1,8})\}/y : new RegExp(`([\\da-fA-F]{${length}})`, 'y');
    const [, digits] = this.#match(pattern) ?? [];
    const code = Number.parseInt(digits ?? '', 16);
    if (!(code <= 0x10ffff)) throw this.#error(`expected the ${length} hexadecimal digits of a character`);
    return String.fromCodePoint(code);
  }

  #setOf(ranges: readonly Range[]): Tree {
    return { kind: 'set', set: this.#folded(setOf(ranges)) };
  }

  #folded(set: CharacterSet): CharacterSet {
    if (!this.#flags.has('i')) return set;
    this.#budget.spend(STEPS_OF_FOLDED * Math.min(sizeOf(set), MAX_FOLDED));
    const folded = withBothCases(set);
    if (folded === null) throw new NotEnforced();
    return folded;
  }

  #skipStartAnchors(): void {
    if (!this.#isWhole || this.#depth > 0) return;
    this.#skipSpace();
    while (this.#take('^') || this.#take('\\A')) this.#skipSpace();
  }

  /** Whether there was one. */
  #skipEndAnchor(): boolean {
    if (!this.#isWhole || this.#depth > 0) return false;
    const at = this.#at;
    while (this.#take('$') || this.#take('\\z') || this.#take('\\Z')) this.#skipSpace();
    if (this.#at === at) return false;
    if (this.#at < this.#end && !this.#isNext('|') && !this.#isNext(')')) throw new NotEnforced();
    return true;
  }

  #skipSpace(): void {
    if (this.#flags.has('x')) this.#match(SPACE);
  }

  #isNext(text: string): boolean {
    return this.#at < this.#end && this.#text.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#isNext(text)) return false;
    this.#at += text.length;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const matched = pattern.exec(this.#text);
    if (matched !== null) this.#at += matched[0].length;
    return matched;
  }

  #placeOf(at: number): string {
    const { line, column } = new DefinitionError(this.#text, at, '');
    return `line ${line}, column ${column}`;
  }

  #error(reason: string, at = this.#at): DefinitionError {
    const what = reason.startsWith('expected') ? `${reason}, found ${found(this.#text, at)}` : reason;
    return new DefinitionError(this.#text, at, what);
  }
}

export function literal(text: string, ignoresCase: boolean, budget: ConversionBudget): Tree {
  if (ignoresCase) budget.spend(STEPS_OF_FOLDED * text.length);
  const parts = [...text].map((character): Tree => {
    const set = [rangeOf(character)];
    return { kind: 'set', set: (ignoresCase ? withBothCases(set) : null) ?? set };
  });
  return parts.length === 0 ? EMPTY : sequence(parts);
}
