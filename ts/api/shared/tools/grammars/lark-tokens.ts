/** The tokens of a Lark grammar, with their positions. */
import { DefinitionError, found, NotEnforced } from './grammar-tree.js';

export type TokenKind = 'name' | 'string' | 'expression' | 'number' | 'directive' | 'sign' | 'newline' | 'end';

export interface Token {
  kind: TokenKind;
  text: string;
  /** Offset in the definition. */
  at: number;
}

/** The patterns are linear: the alternatives within a repetition begin with different characters. */
const TOKENS: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['newline', /(?:[ \t\f\r]*\n)+/y],
  ['space', /(?:[ \t\f\r]|\\[ \t]*\r?\n)+|\/\/[^\n]*|#[^\n]*/y],
  ['name', /[A-Za-z_]\w*/y],
  ['string', /"(?:[^"\\\n]|\\.)*"i?/y],
  ['expression', /\/(?:[^/\\\n]|\\.)+\/[a-z]*/y],
  ['number', /\d+/y],
  ['directive', /%[a-z]+/y],
  ['sign', /->|\.\.|[:|()[\]{}?*+~.,!-]/y],
];

/** Syntax of Lark extensions: special tokens, intersection and negation. */
const FOREIGN = /[<>&=@$]/;

/** Drops line ends that end nothing: within brackets, and before a `|`. */
export function tokenize(definition: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  for (let at = 0; at < definition.length; ) {
    const { kind, text } = next(definition, at);
    if (kind === 'newline') {
      if (depth === 0 && tokens.at(-1)?.kind !== 'newline') tokens.push({ kind, text, at });
    } else if (kind !== 'space') {
      if (text === '|' && tokens.at(-1)?.kind === 'newline') tokens.pop();
      if (text === '(' || text === '[') depth += 1;
      else if (text === ')' || text === ']') depth = Math.max(0, depth - 1);
      tokens.push({ kind, text, at });
    }
    at += text.length;
  }
  tokens.push({ kind: 'end', text: '', at: definition.length });
  return tokens;
}

function next(definition: string, at: number): { kind: TokenKind | 'space'; text: string } {
  for (const [kind, pattern] of TOKENS) {
    pattern.lastIndex = at;
    const [text] = pattern.exec(definition) ?? [];
    if (text !== undefined) return { kind, text };
  }
  const character = definition[at] as string;
  if (FOREIGN.test(character)) throw new NotEnforced();
  if (character === '"') throw new DefinitionError(definition, at, 'expected another `"` in the line, for the string');
  if (character === '/') throw new DefinitionError(definition, at, 'expected another `/`, for the regular expression');
  throw new DefinitionError(definition, at, `expected a rule or a terminal, found ${found(definition, at)}`);
}

/** The value of a string literal. */
export function unquoted({ text, at }: Token, definition: string): string {
  const inner = text.slice(1, text.lastIndexOf('"'));
  return inner.replace(/\\(?:x(..)|u(.{4})|U(.{8})|(.))/g, (written, x, u, U, other) => {
    const digits: string | undefined = x ?? u ?? U;
    if (digits === undefined && !/[xuU]/.test(other)) {
      return CONTROLS[other] ?? (/["\\]/.test(other) ? other : written);
    }
    const code = digits !== undefined && /^[\da-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    throw new DefinitionError(definition, at, `expected hexadecimal digits in the string, found \`${written}\``);
  });
}

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', a: '\x07' };
