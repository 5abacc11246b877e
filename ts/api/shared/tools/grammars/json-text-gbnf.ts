/**
 * Converts rules of a text to GBNF, llama.cpp's notation, either of the text itself or of its JSON form between quotes.
 * Each character has one form in JSON: itself, or otherwise its short escape or `\u00XX`.
 */
import { type CharacterSet, complementOf, intersectionOf, type Range, rangeOf, setOf } from './character-set.js';
import type { ConversionBudget } from './conversion-budget.js';
import { NotEnforced, type RuleSet, type Tree } from './grammar-tree.js';

/** Steps of the budget. */
const STEPS_OF_PART = 4;
const STEPS_OF_SET = 400;
const STEPS_OF_RANGE = 16;
/** Limit of all repetitions together. */
const MAX_REPEATED = 50_000;
/** Maximum nesting of groups. llama.cpp accepts 256. */
const MAX_GROUPS = 200;

const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' }).map(
    ([character, letter]) => [character.charCodeAt(0), letter],
  ),
);

const CHARACTERS = complementOf([[0xd800, 0xdfff]]);
/** DEL need not be escaped, but llama.cpp's own string grammar requires it. */
const ESCAPED = setOf([[0, 0x1f], [0x7f, 0x7f], rangeOf('"'), rangeOf('\\')]);
const PLAIN = intersectionOf(CHARACTERS, complementOf(ESCAPED));

export interface Gbnf {
  /** The name of the text's rule. */
  root: string;
  rules: string;
}

export function toGbnf(grammar: RuleSet, prefix: string, budget: ConversionBudget, isJson: boolean): Gbnf {
  return new GbnfWriter(grammar, prefix, budget, isJson).write();
}

export function literalOf(text: string): string {
  return `"${inLiteral(text)}"`;
}

class GbnfWriter {
  readonly #names = new Map<string, string>();
  /** Cached GBNF of each set: most sets occur repeatedly. */
  readonly #sets = new Map<CharacterSet, string>();
  readonly #setsByRanges = new Map<string, string>();
  readonly #lines: string[] = [];
  #setRules = 0;
  #repeated = 0;
  #groups = 0;

  constructor(
    private readonly grammar: RuleSet,
    private readonly prefix: string,
    private readonly budget: ConversionBudget,
    private readonly isJson: boolean,
  ) {}

  write(): Gbnf {
    const { start, rules } = this.grammar;
    for (const name of rules.keys()) this.#names.set(name, `${this.prefix}-${this.#names.size}`);
    for (const [name, tree] of rules) this.#add(this.#nameOf(name), this.#writeTree(tree));
    return { root: this.#nameOf(start), rules: this.#lines.join('') };
  }

  #nameOf(rule: string): string {
    return this.#names.get(rule) as string;
  }

  #add(name: string, text: string): void {
    const line = `${name} ::= ${text}\n`;
    this.budget.spend(line.length);
    this.#lines.push(line);
  }

  #writeTree(tree: Tree): string {
    switch (tree.kind) {
      case 'rule':
        return this.#nameOf(tree.name);
      case 'choice':
        return tree.ways.map((way) => this.#writeTree(way)).join(' | ');
      case 'repeat':
        return this.#writeRepeat(tree);
      case 'set':
      case 'sequence':
        return this.#writeSequence(tree.kind === 'set' ? [tree] : tree.parts);
    }
  }

  /** Adjacent single characters become one literal. */
  #writeSequence(parts: readonly Tree[]): string {
    const written: string[] = [];
    let literal = '';
    const endLiteral = (): void => {
      if (literal !== '') written.push(`"${literal}"`);
      literal = '';
    };
    for (const part of parts) {
      this.budget.spend(STEPS_OF_PART);
      const single = part.kind === 'set' ? singleOf(part.set) : null;
      if (single !== null) {
        literal += inLiteral(this.isJson ? escapedText(single) : String.fromCodePoint(single));
        continue;
      }
      endLiteral();
      if (part.kind === 'set') written.push(this.#writeSet(part.set));
      else written.push(part.kind === 'choice' ? this.#group(part) : this.#writeTree(part));
    }
    endLiteral();
    // Empty alternatives are explicit, because llama.cpp continues in the next line after `::=` or `|`.
    return written.length === 0 ? '""' : written.join(' ');
  }

  #group(tree: Tree): string {
    this.#groups += 1;
    if (this.#groups > MAX_GROUPS) throw new NotEnforced();
    const text = `(${this.#writeTree(tree)})`;
    this.#groups -= 1;
    return text;
  }

  #writeRepeat({ part, least, most }: Extract<Tree, { kind: 'repeat' }>): string {
    this.#repeated += most === Infinity ? least : most;
    if (this.#repeated > MAX_REPEATED) throw new NotEnforced();
    const isOne = part.kind === 'rule' || (part.kind === 'set' && singleOf(part.set) === null);
    const one = isOne ? this.#writeTree(part) : this.#group(part);
    if (most === Infinity && least <= 1) return `${one}${least === 0 ? '*' : '+'}`;
    if (least === 0 && most === 1) return `${one}?`;
    return `${one}{${least},${most === Infinity ? '' : most}}`;
  }

  #writeSet(set: CharacterSet): string {
    const known = this.#sets.get(set);
    if (known !== undefined) return known;
    this.budget.spend(STEPS_OF_RANGE * set.length);
    const ranges = set.join();
    const text = this.#setsByRanges.get(ranges) ?? this.#writeNewSet(set);
    this.#setsByRanges.set(ranges, text);
    this.#sets.set(set, text);
    return text;
  }

  /** A character class, or the rule of a set of characters that JSON escapes. */
  #writeNewSet(set: CharacterSet): string {
    this.budget.spend(STEPS_OF_SET);
    const plain = intersectionOf(set, this.isJson ? PLAIN : CHARACTERS);
    const escapes = this.isJson ? writeEscapes(intersectionOf(set, ESCAPED)) : [];
    const ways = [...(plain.length > 0 ? [writeClass(plain)] : []), ...escapes];
    if (ways.length === 0) throw new NotEnforced();
    const text = ways.join(' | ');
    if (escapes.length === 0 && plain.length <= 4) return text;
    const name = `${this.prefix}-set-${this.#setRules}`;
    this.#setRules += 1;
    this.#add(name, text);
    return name;
  }
}

function singleOf(set: CharacterSet): number | null {
  const [range] = set;
  if (range === undefined || set.length > 1 || range[0] !== range[1]) return null;
  return intersectionOf(set, CHARACTERS).length === 0 ? null : range[0];
}

/** The JSON form of a character within quotes. */
function escapedText(code: number): string {
  const letter = SHORT_ESCAPES.get(code);
  if (letter !== undefined) return `\\${letter}`;
  if (code < 0x20 || code === 0x7f) return `\\u00${code.toString(16).padStart(2, '0')}`;
  return String.fromCodePoint(code);
}

/** Escapes all characters that a GBNF literal cannot contain, and all outside printable ASCII. */
function inLiteral(text: string): string {
  return text.replace(/[^ !#-[\]-~]/gu, (each) => codeOf(each.codePointAt(0) as number));
}

function codeOf(code: number): string {
  if (code === 0x22) return '\\"';
  if (code === 0x5c) return '\\\\';
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

function writeClass(ranges: readonly Range[]): string {
  const inClass = (code: number): string => {
    const character = String.fromCodePoint(code);
    return /[A-Za-z0-9 ]/.test(character)
      ? character
      : `${code === 0x22 || code === 0x5c ? `\\x${code.toString(16).toUpperCase()}` : codeOf(code)}`;
  };
  const parts = ranges.map(([first, last]) => (first === last ? inClass(first) : `${inClass(first)}-${inClass(last)}`));
  return `[${parts.join('')}]`;
}

/** All escaped forms of these characters. */
function writeEscapes(set: CharacterSet): string[] {
  const letters: number[] = [];
  const byFirstDigit = new Map<string, Range[]>();
  for (const [first, last] of set) {
    for (let code = first; code <= last; code++) {
      const letter = SHORT_ESCAPES.get(code);
      if (letter !== undefined) {
        letters.push(letter.charCodeAt(0));
        continue;
      }
      const [high, low] = code.toString(16).padStart(2, '0') as unknown as [string, string];
      byFirstDigit.set(high, [...(byFirstDigit.get(high) ?? []), rangeOf(low)]);
    }
  }
  const ways = letters.length > 0 ? [`"\\\\" ${writeClass(setOf(letters.map((code): Range => [code, code])))}`] : [];
  for (const [digit, lows] of byFirstDigit) ways.push(`"\\\\u00${digit}" ${writeClass(setOf(lows))}`);
  return ways;
}
