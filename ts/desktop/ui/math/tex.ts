/**
 * The part of TeX that models write formulas in, as MathML, which browsers draw themselves: no fonts, no styles and
 * a few kilobytes, where a whole TeX would take more than the rest of the page. What it does not know is shown as it was
 * written.
 */
import { inAlphabet, isAlphabet, symbolOf } from './symbols.js';

const MAX_LENGTH = 4000;
const MAX_DEPTH = 40;

/** `null` for what is not understood. */
export function texToMathml(tex: string, display: boolean): string | null {
  if (tex.length > MAX_LENGTH) return null;
  try {
    const parser = new Parser(tokensOf(tex), display);
    const body = parser.row(() => false);
    return `<math${display ? ' display="block"' : ''}>${body}</math>`;
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
}

class NotUnderstood extends Error {}

/** Commands with their backslash, and characters; spaces mean nothing but within texts. */
function tokensOf(tex: string): string[] {
  return tex.match(/\\(?:[A-Za-z]+\*?|.)|\s+|[0-9]+(?:[.,][0-9]+)*|./gsu) ?? [];
}

const FENCES = new Set(['(', ')', '[', ']', '|', '/', '.', '<', '>']);
const ACCENTS = new Map(
  Object.entries({
    hat: '^',
    widehat: '^',
    bar: '¯',
    overline: '¯',
    vec: '→',
    overrightarrow: '→',
    tilde: '~',
    widetilde: '~',
    dot: '˙',
    ddot: '¨',
    overbrace: '⏞',
  }),
);
const UNDER = new Map(Object.entries({ underline: '_', underbrace: '⏟' }));
const TEXTS = [
  'text',
  'textrm',
  'textbf',
  'textit',
  'mathrm',
  'operatorname',
  'operatorname*',
  'mathsf',
  'mathtt',
  'mbox',
];
/** They change a size or a style that browsers choose well enough. */
const PASSED = [
  'displaystyle',
  'textstyle',
  'limits',
  'nolimits',
  'bigl',
  'bigr',
  'Bigl',
  'Bigr',
  'big',
  'Big',
  'bigg',
  'Bigg',
];
const TABLES = new Map<string, readonly [open: string, close: string]>(
  Object.entries({
    matrix: ['', ''],
    pmatrix: ['(', ')'],
    bmatrix: ['[', ']'],
    Bmatrix: ['{', '}'],
    vmatrix: ['|', '|'],
    Vmatrix: ['‖', '‖'],
    cases: ['{', ''],
    aligned: ['', ''],
    align: ['', ''],
    'align*': ['', ''],
    gathered: ['', ''],
    array: ['', ''],
    equation: ['', ''],
    'equation*': ['', ''],
  }),
);

class Parser {
  #at = 0;
  #depth = 0;

  constructor(
    readonly tokens: readonly string[],
    readonly display: boolean,
  ) {}

  /** Everything up to a token that ends it, which is left. */
  row(ends: (token: string) => boolean): string {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotUnderstood();
    let items = '';
    for (let token = this.#peek(); token !== undefined && !ends(token); token = this.#peek()) items += this.#item();
    this.#depth -= 1;
    return items;
  }

  /** One thing with what stands above and below it. */
  #item(): string {
    const token = this.#peek();
    const name = token?.startsWith('\\') ? token.slice(1) : '';
    const hasLimits = this.display && ['large', 'limits'].includes(symbolOf(name)?.kind ?? '');
    let base = this.#atom();
    const [sub, sup] = this.#scripts();
    const [under, over] = hasLimits ? ['munder', 'mover'] : ['msub', 'msup'];
    if ((sub !== null || sup !== null) && base === '') base = '<mrow></mrow>';
    if (sub !== null && sup !== null) return tag(hasLimits ? 'munderover' : 'msubsup', base + sub + sup);
    if (sub !== null) return tag(under as string, base + sub);
    return sup === null ? base : tag(over as string, base + sup);
  }

  #scripts(): [sub: string | null, sup: string | null] {
    let [sub, sup]: [string | null, string | null] = [null, null];
    for (;;) {
      const token = this.#peek();
      if (token === '_' && sub === null) sub = this.#after();
      else if (token === '^' && sup === null) sup = this.#after();
      else if (token === "'" && sup === null) sup = this.#primes();
      else if (token === '\\limits' || token === '\\nolimits') this.#next();
      else return [sub, sup];
    }
  }

  #after(): string {
    this.#next();
    return this.#argument();
  }

  #primes(): string {
    let count = 0;
    for (; this.#peek() === "'"; count += 1) this.#next();
    return tag('mo', '′'.repeat(count));
  }

  /** A group in braces, or the next thing alone. */
  #argument(): string {
    if (this.#peek() !== '{') return grouped(this.#atom());
    this.#next();
    const content = this.row((token) => token === '}');
    this.#expect('}');
    return tag('mrow', content);
  }

  #atom(): string {
    const token = this.#next();
    if (token === undefined || ['}', '^', '_', '&', '\\\\', '#'].includes(token)) throw new NotUnderstood();
    if (token === '{') {
      this.#at -= 1;
      return this.#argument();
    }
    if (token.startsWith('\\')) return this.#command(token.slice(1));
    if (/^[0-9]/.test(token)) return tag('mn', token);
    if (/^\p{L}$/u.test(token)) return tag('mi', token);
    if (token === '~') return space('0.25em');
    return tag('mo', escaped(token === '-' ? '−' : token === '*' ? '∗' : token));
  }

  #command(name: string): string {
    const symbol = symbolOf(name);
    if (symbol !== undefined) {
      if (symbol.kind === 'space') return space(symbol.text);
      if (symbol.kind === 'letter') return tag('mi', symbol.text);
      if (symbol.kind === 'function' || symbol.kind === 'limits')
        return `${tag('mi', symbol.text)}<mspace width="0.1em"></mspace>`;
      return tag('mo', escaped(symbol.text));
    }
    if (/^[dtc]?frac$/.test(name)) return tag('mfrac', this.#argument() + this.#argument());
    if (name === 'binom') {
      const fraction = `<mfrac linethickness="0">${this.#argument()}${this.#argument()}</mfrac>`;
      return tag('mrow', `<mo>(</mo>${fraction}<mo>)</mo>`);
    }
    if (name === 'sqrt') return this.#root();
    if (TEXTS.includes(name)) return tag('mtext', escaped(this.#text()));
    if (isAlphabet(name)) return this.#lettersIn(name);
    const [accent, under] = [ACCENTS.get(name), UNDER.get(name)];
    if (accent !== undefined) return `<mover accent="true">${this.#argument()}${tag('mo', accent)}</mover>`;
    if (under !== undefined) return tag('munder', this.#argument() + tag('mo', under));
    if (name === 'overset' || name === 'stackrel') return tag('mover', reversed(this.#argument(), this.#argument()));
    if (name === 'underset') return tag('munder', reversed(this.#argument(), this.#argument()));
    if (name === 'boxed') return tag('mrow', this.#argument());
    if (name === 'left') return this.#fenced();
    if (name === 'begin') return this.#table();
    if (name === 'not') return `${tag('mo', '̸')}${this.#atom()}`;
    if (PASSED.includes(name)) return '';
    throw new NotUnderstood();
  }

  #root(): string {
    if (this.#peek() !== '[') return tag('msqrt', this.#argument());
    this.#next();
    const index = tag(
      'mrow',
      this.row((token) => token === ']'),
    );
    this.#expect(']');
    return tag('mroot', this.#argument() + index);
  }

  /** What stands in braces, as it was written. */
  #text(): string {
    this.#expect('{');
    let text = '';
    for (let depth = 1; ; ) {
      const token = this.tokens[this.#at];
      this.#at += 1;
      if (token === undefined) throw new NotUnderstood();
      if (token === '{') depth += 1;
      if (token === '}') depth -= 1;
      if (depth === 0) return text.replace(/ /g, '\u00a0');
      if (token !== '{' && token !== '}') text += token.replace(/^\\(?=[^A-Za-z])/, '');
    }
  }

  #lettersIn(alphabet: string): string {
    const text = this.#peek() === '{' ? this.#text() : (this.#next() ?? '');
    if (/[\\^_{}]/.test(text)) throw new NotUnderstood();
    return tag('mi', escaped([...text].map((each) => inAlphabet(alphabet, each)).join('')));
  }

  #fenced(): string {
    const open = this.#fence();
    const content = this.row((token) => token === '\\right');
    this.#expect('\\right');
    return tag('mrow', open + content + this.#fence());
  }

  #fence(): string {
    const token = this.#next() ?? '';
    if (token === '.') return '';
    const text = token.startsWith('\\') ? symbolOf(token.slice(1))?.text : FENCES.has(token) ? token : undefined;
    if (text === undefined) throw new NotUnderstood();
    return `<mo stretchy="true">${escaped(text)}</mo>`;
  }

  #table(): string {
    const name = this.#text();
    const fences = TABLES.get(name);
    if (fences === undefined) throw new NotUnderstood();
    // The columns of an array are as the browser has them.
    if (name === 'array' && this.#peek() === '{') this.#text();
    let rows = '';
    let cells = '';
    for (;;) {
      cells += tag(
        'mtd',
        this.row((token) => ['&', '\\\\', '\\end'].includes(token)),
      );
      const token = this.#next();
      if (token === '&') continue;
      rows += tag('mtr', cells);
      cells = '';
      if (token === '\\end') break;
      if (token !== '\\\\') throw new NotUnderstood();
    }
    if (this.#text() !== name) throw new NotUnderstood();
    const align = /^(align|aligned)/.test(name)
      ? ' columnalign="right left"'
      : name === 'cases'
        ? ' columnalign="left"'
        : '';
    const [open, close] = fences.map((fence) => (fence ? `<mo stretchy="true">${fence}</mo>` : ''));
    return tag('mrow', `${open}<mtable${align}>${rows}</mtable>${close}`);
  }

  #peek(): string | undefined {
    while (/^\s/.test(this.tokens[this.#at] ?? '')) this.#at += 1;
    return this.tokens[this.#at];
  }

  #next(): string | undefined {
    const token = this.#peek();
    this.#at += 1;
    return token;
  }

  #expect(token: string): void {
    if (this.#next() !== token) throw new NotUnderstood();
  }
}

function tag(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

function grouped(content: string): string {
  return tag('mrow', content);
}

/** TeX names what stands above before what it stands above; MathML the other way round. */
function reversed(first: string, second: string): string {
  return second + first;
}

function space(width: string): string {
  return `<mspace width="${width}"></mspace>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
