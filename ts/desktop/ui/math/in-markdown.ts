/** Formulas in Markdown: between `$` or `\(` in a line, between `$$` or `\[` as a block of their own. */
import { Lexer, type MarkedExtension, Tokenizer, type Tokens } from 'marked';

/** Marks the `code` elements that hold TeX. */
export const TEX = 'application/x-tex';

/*
 * Both look no further than where the next formula begins, or else a text of beginnings alone would be read to its end
 * from each of them. A dollar sign before a price is none that begins a formula: Pandoc's rule.
 */
const INLINE =
  /^(?:\\\(((?:[^\\\n]|\\[^()\n])+?)\\\)|\$\$([^$\n]+?)\$\$|\$(?![\s$])((?:[^$\\\n]|\\[^\n])*?[^\s\\$])\$(?!\d))/;
const BLOCK = /^ {0,3}(?:\\\[((?:[^\\]|\\[^[\]])+?)\\\]|\$\$((?:[^\\$]|\\.|\$(?!\$))+?)\$\$)[ \t]*(?:\n+|$)/s;

const BEGINNING = / {0,3}(?:\\\[|\$\$)/;
const LINE_OF_BLOCK = new RegExp(`^${BEGINNING.source}`);

const UNDERLINE = / {0,3}=+ *(?:\n|$)/;

/**
 * The lines of a paragraph before one that a block may begin: the lexer's rule for paragraphs, with two ends more. What
 * follows the underline of a heading is none of its paragraph.
 */
const LINES = new RegExp(
  Lexer.rules.block.gfm.paragraph.source
    .replace('[^\\n]+', () => '[^\\n]*')
    .replace('(?!', () => `(?!${BEGINNING.source}|${UNDERLINE.source}|`),
);
/** The lexer's rule for text, which ends at each backslash, and here at each dollar sign too, also one in an address. */
const PIECE = new RegExp(
  Lexer.rules.inline.gfm.text.source.replaceAll('#$%', () => '#%').replace('[\\\\<!', () => '[$\\\\<!'),
);

export const mathInMarkdown: MarkedExtension = {
  extensions: [
    {
      name: 'blockMath',
      level: 'block',
      start(text) {
        return startInParagraph(text, this.lexer);
      },
      tokenizer: (text) => tokenOf('blockMath', BLOCK.exec(text)),
      renderer: ({ raw }) => `<div>${placeholder(raw, true)}</div>`,
    },
    {
      name: 'inlineMath',
      level: 'inline',
      tokenizer: (text) => tokenOf('inlineMath', INLINE.exec(text)),
      renderer: ({ raw }) => placeholder(raw, raw.startsWith('$$')),
    },
  ],
  tokenizer: {
    // A heading that is underlined is looked for before a paragraph, and would be sought past each formula.
    lheading(text) {
      const start = startInParagraph(text.slice(1), this.lexer);
      return start !== undefined && Tokenizer.prototype.lheading.call(this, text.slice(0, start + 1));
    },
    // A `start` would search all that follows, for each piece of text.
    inlineText(text) {
      const [piece] = PIECE.exec(text) ?? [];
      return piece !== undefined && Tokenizer.prototype.inlineText.call(this, piece);
    },
  },
};

/** Where a formula begins in the paragraph that a text begins; the first character of the text is not given. */
function startInParagraph(text: string, { state }: Lexer): number | undefined {
  // The text of a list comes line by line, so that no paragraph has to be cut.
  if (!state.top) return undefined;
  let start = afterLines(text, 0);
  while (LINE_OF_BLOCK.test(text.slice(start))) {
    if (BLOCK.test(text.slice(start))) return start;
    start = afterLines(text, start);
  }
  return undefined;
}

function afterLines(text: string, from: number): number {
  return from + (LINES.exec(text.slice(from))?.[0].length ?? 0) + 1;
}

function tokenOf(type: string, match: RegExpExecArray | null): Tokens.Generic | undefined {
  return match === null ? undefined : { type, raw: match[0] };
}

/** Shows the source until `drawFormulas` replaces it. The sanitiser keeps both attributes. */
function placeholder(raw: string, display: boolean): string {
  const source = raw.trim().replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<code encoding="${TEX}"${display ? ' display="block"' : ''}>${source}</code>`;
}
