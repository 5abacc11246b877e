/** Markdown extension for formulas: `$…$` and `\(…\)` inline, `$$…$$` and `\[…\]` as blocks. */
import { Lexer, type MarkedExtension, Tokenizer, type Tokens } from 'marked';

/** Marks the `code` elements that hold TeX. */
export const TEX = 'application/x-tex';

/*
 * Both stop at the next opening delimiter. Otherwise text with many openings would be scanned to its end from each one.
 * A dollar sign before a price does not open a formula (Pandoc's rule).
 */
const INLINE =
  /^(?:\\\(((?:[^\\\n]|\\[^()\n])+?)\\\)|\$\$([^$\n]+?)\$\$|\$(?![\s$])((?:[^$\\\n]|\\[^\n])*?[^\s\\$])\$(?!\d))/;
const BLOCK = /^ {0,3}(?:\\\[((?:[^\\]|\\[^[\]])+?)\\\]|\$\$((?:[^\\$]|\\.|\$(?!\$))+?)\$\$)[ \t]*(?:\n+|$)/s;

const BEGINNING = / {0,3}(?:\\\[|\$\$)/;
const LINE_OF_BLOCK = new RegExp(`^${BEGINNING.source}`);

const UNDERLINE = / {0,3}=+ *(?:\n|$)/;

/**
 * The lines of a paragraph before a possible block formula: the lexer's paragraph rule, which here also ends at a
 * formula and at the underline of a heading.
 */
const LINES = new RegExp(
  Lexer.rules.block.gfm.paragraph.source
    .replace('[^\\n]+', () => '[^\\n]*')
    .replace('(?!', () => `(?!${BEGINNING.source}|${UNDERLINE.source}|`),
);
/** The lexer's text rule, which here also ends at each dollar sign. */
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
    // The rule for underlined headings runs first and would otherwise match across formulas.
    lheading(text) {
      const start = startInParagraph(text.slice(1), this.lexer);
      return start !== undefined && Tokenizer.prototype.lheading.call(this, text.slice(0, start + 1));
    },
    // With a `start` function, the lexer would search the rest of the text for each piece.
    inlineText(text) {
      const [piece] = PIECE.exec(text) ?? [];
      return piece !== undefined && Tokenizer.prototype.inlineText.call(this, piece);
    },
  },
};

/**
 * Returns the offset of the first formula in the paragraph at the start of `text`. `text` lacks its first character.
 */
function startInParagraph(text: string, { state }: Lexer): number | undefined {
  // Text in lists arrives line by line, so there is no paragraph to split.
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
