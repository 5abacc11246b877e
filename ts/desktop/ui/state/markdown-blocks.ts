/**
 * Markdown that grows, in blocks. A block that another one follows is finished and never parsed again; the last one is
 * parsed anew with each change, so that a long text costs no more per frame than a short one.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { mathInMarkdown } from '../math/in-markdown.js';

export type Block = { kind: 'html'; html: string } | { kind: 'code'; code: string; language: string; closed: boolean };

const markdown = new Marked({
  gfm: true,
  renderer: {
    // Pages have headings of the first two levels themselves.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox({ checked }) {
      return checked ? '☑ ' : '☐ ';
    },
  },
}).use(mathInMarkdown);

export class MarkdownBlocks {
  #text = '';
  #finished: Block[] = [];
  /** Where the first block begins that is not finished. */
  #start = 0;

  /** `clean` makes HTML safe: what is parsed here comes from models and strangers. */
  constructor(readonly clean: (html: string) => string) {}

  /** The blocks of a text; where it goes on from the text of the last call, its finished blocks are the same objects. */
  update(written: string, complete: boolean): readonly Block[] {
    // The parser has one kind of line ends, and counts by it.
    const text = written.replace(/\r\n?/g, '\n');
    if (!text.startsWith(this.#text)) {
      this.#finished = [];
      this.#start = 0;
    }
    this.#text = text;
    const tokens = markdown.lexer(text.slice(this.#start));
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    for (const token of tokens.slice(0, Math.max(last, 0))) {
      this.#start += token.raw.length;
      if (token.type !== 'space') this.#finished.push(this.#toBlock(token, true));
    }
    const open = tokens[last];
    return open ? [...this.#finished, this.#toBlock(open, complete)] : this.#finished;
  }

  #toBlock(token: Token, complete: boolean): Block {
    if (token.type === 'code') {
      const { text, lang, raw } = token as Tokens.Code;
      const closed = complete || /\n\s*(```+|~~~+)\s*$/.test(raw);
      return { kind: 'code', code: text, language: lang?.split(/\s/, 1)[0] ?? '', closed };
    }
    return { kind: 'html', html: this.clean(markdown.parser([token])) };
  }
}
