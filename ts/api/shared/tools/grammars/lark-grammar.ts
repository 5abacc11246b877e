/**
 * Converts Lark grammars to rules. Templates, libraries other than `common`, and changes of an imported grammar throw
 * `NotEnforced`. Priorities, aliases and modifiers of rules affect only the parse tree and are ignored.
 */
import { asCommon, COMMON_TERMINALS, commonName } from './common-terminals.js';
import { ConversionBudget } from './conversion-budget.js';
import {
  choice,
  DefinitionError,
  MAX_DEPTH,
  NotEnforced,
  type RuleSet,
  repeat,
  sequence,
  type Tree,
} from './grammar-tree.js';
import { type Token, type TokenKind, tokenize, unquoted } from './lark-tokens.js';
import { literal, parseExpression } from './regular-expression.js';

/** Maximum number of rules and terminals of a grammar. */
const MAX_RULES = 1000;
/** Steps of the budget. */
const STEPS_OF_TOKEN = 10;
const START = 'start';
/** No rule of a definition can have this name. */
const TEXT = '%text';
const IGNORED = '%ignore';

export function parseLark(definition: string, budget: ConversionBudget): RuleSet {
  const rules = new LarkParser(definition, budget).parse();
  if (!rules.has(START)) {
    throw new DefinitionError(definition, definition.length, `expected a rule named \`${START}\`, found the end`);
  }
  return { start: rules.has(TEXT) ? TEXT : START, rules };
}

let common: Map<string, Tree> | null = null;

function commonTerminals(): Map<string, Tree> {
  common ??= asCommon(new LarkParser(COMMON_TERMINALS, new ConversionBudget()).parse());
  return common;
}

interface Reference {
  token: Token;
  /** Terminals consist of terminals only. */
  isInTerminal: boolean;
}

class LarkParser {
  readonly #tokens: readonly Token[];
  readonly #ignores: boolean;
  readonly #rules = new Map<string, Tree>();
  readonly #references: Reference[] = [];
  readonly #ignored: Tree[] = [];
  #next = 0;
  #depth = 0;
  #isInTerminal = false;

  constructor(
    private readonly definition: string,
    private readonly budget: ConversionBudget,
  ) {
    this.#tokens = tokenize(definition);
    budget.spend(STEPS_OF_TOKEN * this.#tokens.length);
    this.#ignores = this.#tokens.some(({ kind, text }) => kind === 'directive' && text === '%ignore');
  }

  parse(): Map<string, Tree> {
    while (this.#peek().kind !== 'end') {
      if (this.#peek().kind === 'newline') this.#next += 1;
      else this.#parseStatement();
    }
    this.#checkReferences();
    if (this.#ignores) this.#addIgnored();
    return this.#rules;
  }

  /** Ignored terminals may occur at the beginning and after every terminal. */
  #addIgnored(): void {
    this.#rules.set(IGNORED, repeat(choice(this.#ignored), 0, Infinity));
    this.#rules.set(TEXT, sequence([reference(IGNORED), reference(START)]));
  }

  #checkReferences(): void {
    for (const { token, isInTerminal } of this.#references) {
      const { text, at } = token;
      if (!this.#rules.has(text))
        throw this.#error(`there is no ${isTerminal(text) ? 'terminal' : 'rule'} \`${text}\``, at);
      if (isInTerminal && !isTerminal(text)) throw this.#error(`expected a terminal, found the rule \`${text}\``, at);
    }
  }

  #parseStatement(): void {
    const { kind, text, at } = this.#peek();
    if (kind === 'directive') this.#parseDirective();
    else {
      while (this.#take('?') || this.#take('!'));
      const name = this.#expect('name', 'the name of a rule or a terminal');
      if (this.#isSign('{') || this.#isSign('[')) throw new NotEnforced();
      if (this.#take('.')) {
        this.#take('-');
        this.#expect('number', 'a priority');
      }
      this.#expectSign(':');
      this.#isInTerminal = isTerminal(name.text);
      this.#define(name, this.#parseWays());
    }
    if (this.#peek().kind === 'newline') this.#next += 1;
    else if (this.#peek().kind !== 'end') throw this.#unexpected(`the end of \`${text}\` in line ${this.#lineOf(at)}`);
  }

  #define({ text, at }: Token, tree: Tree): void {
    if (this.#rules.has(text)) throw this.#error(`\`${text}\` is defined already`, at);
    if (this.#rules.size >= MAX_RULES) throw new NotEnforced();
    this.#rules.set(text, tree);
  }

  #parseDirective(): void {
    const { text, at } = this.#take();
    switch (text) {
      case '%ignore':
        this.#isInTerminal = true;
        this.#ignored.push(this.#parseWays());
        return;
      case '%import':
        this.#parseImport();
        return;
      case '%declare':
      case '%override':
      case '%extend':
      case '%json':
      case '%regex':
      case '%lark':
      case '%llguidance':
        throw new NotEnforced();
      default:
        throw this.#error(`expected \`%import\` or \`%ignore\`, found \`${text}\``, at);
    }
  }

  #parseImport(): void {
    if (this.#isSign('.')) throw new NotEnforced();
    const library = this.#expect('name', 'a library');
    if (library.text !== 'common') throw new NotEnforced();
    for (const [name, tree] of commonTerminals()) this.#rules.set(name, tree);
    if (this.#take('(')) {
      do this.#import(this.#expect('name', 'a terminal'));
      while (this.#take(','));
      this.#expectSign(')');
      return;
    }
    this.#expectSign('.');
    const name = this.#expect('name', 'a terminal');
    this.#import(name, this.#take('->') ? this.#expect('name', 'a terminal') : name);
  }

  #import({ text, at }: Token, as: Token | null = null): void {
    const name = commonName(text);
    if (!this.#rules.has(name)) throw this.#error(`there is no terminal \`${text}\` in the library \`common\``, at);
    this.#define(as ?? { kind: 'name', text, at }, reference(name));
  }

  #parseWays(): Tree {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotEnforced();
    const ways = [this.#parseWay()];
    while (this.#take('|')) ways.push(this.#parseWay());
    this.#depth -= 1;
    return choice(ways);
  }

  #parseWay(): Tree {
    const parts: Tree[] = [];
    for (let atom = this.#parseAtom(); atom !== null; atom = this.#parseAtom()) parts.push(this.#parseQuantifier(atom));
    if (this.#take('->')) this.#expect('name', 'the name of an alias');
    return sequence(parts);
  }

  #parseAtom(): Tree | null {
    const { kind, text, at } = this.#peek();
    if (kind === 'string') return this.#token(this.#parseString());
    if (kind === 'expression') return this.#token(this.#parseExpression());
    if (kind === 'name') {
      const token = this.#take();
      if (this.#isSign('{')) throw new NotEnforced();
      this.#references.push({ token, isInTerminal: this.#isInTerminal });
      return isTerminal(text) ? this.#token(reference(text)) : reference(text);
    }
    if (text !== '(' && text !== '[') return null;
    this.#take();
    const inner = this.#parseWays();
    const closing = text === '(' ? ')' : ']';
    if (!this.#take(closing)) throw this.#unexpected(`\`${closing}\` for the \`${text}\` in line ${this.#lineOf(at)}`);
    return text === '(' ? inner : repeat(inner, 0, 1);
  }

  /** A terminal within a rule. */
  #token(tree: Tree): Tree {
    return this.#ignores && !this.#isInTerminal ? sequence([tree, reference(IGNORED)]) : tree;
  }

  #parseString(): Tree {
    const first = this.#take();
    const from = unquoted(first, this.definition);
    if (!this.#take('..')) return literal(from, first.text.endsWith('i'), this.budget);
    const last = this.#expect('string', 'the last character of a range');
    const [one, other] = [from, unquoted(last, this.definition)].map((text) => [...text].map((c) => c.codePointAt(0)));
    const [low, high] = [one?.[0], other?.[0]];
    if (one?.length !== 1 || other?.length !== 1 || low === undefined || high === undefined || low > high) {
      throw this.#error('expected a range from one character to one that is not before it', first.at);
    }
    return { kind: 'set', set: [[low, high]] };
  }

  #parseExpression(): Tree {
    const { text, at } = this.#take();
    const end = text.lastIndexOf('/');
    const flags = text.slice(end + 1);
    const [definition, budget] = [this.definition, this.budget];
    return parseExpression({ definition, start: at + 1, end: at + end, flags, isWhole: false, budget });
  }

  #parseQuantifier(part: Tree): Tree {
    if (this.#take('?')) return repeat(part, 0, 1);
    if (this.#take('*')) return repeat(part, 0, Infinity);
    if (this.#take('+')) return repeat(part, 1, Infinity);
    if (!this.#take('~')) return part;
    const { at } = this.#peek();
    const least = this.#parseNumber();
    const most = this.#take('..') ? this.#parseNumber() : least;
    if (most < least) throw this.#error('the repetition ends before it begins', at);
    return repeat(part, least, most);
  }

  #parseNumber(): number {
    return Number(this.#expect('number', 'a number of repetitions').text);
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #isSign(text: string): boolean {
    return this.#peek().kind === 'sign' && this.#peek().text === text;
  }

  #take(): Token;
  #take(sign: string): boolean;
  #take(sign?: string): Token | boolean {
    if (sign !== undefined && !this.#isSign(sign)) return false;
    const token = this.#peek();
    this.#next += 1;
    return sign === undefined ? token : true;
  }

  #expect(kind: TokenKind, what: string): Token {
    if (this.#peek().kind !== kind) throw this.#unexpected(what);
    return this.#take();
  }

  #expectSign(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected(`\`${sign}\``);
  }

  #unexpected(expected: string): DefinitionError {
    const { kind, text, at } = this.#peek();
    const what = kind === 'newline' ? 'the end of the line' : kind === 'end' ? 'the end' : `\`${text.slice(0, 40)}\``;
    return this.#error(`expected ${expected}, found ${what}`, at);
  }

  #lineOf(at: number): number {
    return new DefinitionError(this.definition, at, '').line;
  }

  #error(reason: string, at: number): DefinitionError {
    return new DefinitionError(this.definition, at, reason);
  }
}

function reference(name: string): Tree {
  return { kind: 'rule', name };
}

function isTerminal(name: string): boolean {
  return /^_*[A-Z]/.test(name);
}
