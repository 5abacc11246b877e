/**
 * Incremental Markdown, in blocks. A block that is followed by another one is finished and not parsed again. Only the
 * last block is parsed at each change, so the cost per frame does not grow with the text.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { mathInMarkdown } from '../math/in-markdown.js';

export type Block = { closed: boolean } & (
  | { kind: 'html'; html: string }
  | { kind: 'code'; code: string; language: string }
);

const markdown = new Marked({
  gfm: true,
  renderer: {
    // The first two heading levels belong to the page.
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
  /** Offset of the first unfinished block. */
  #start = 0;

  /** `clean` sanitises the HTML of models and model pages. */
  constructor(readonly clean: (html: string) => string) {}

  /** Returns the blocks of a text. If it extends the previous text, finished blocks are the same objects. */
  update(written: string, complete: boolean): readonly Block[] {
    // The parser normalises line ends, which would change offsets.
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
    return { kind: 'html', html: this.clean(markdown.parser([token])), closed: complete };
  }
}
