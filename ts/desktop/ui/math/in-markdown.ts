/** Formulas in Markdown: between `$` or `\(` in a line, between `$$` or `\[` as a block of their own. */
import type { MarkedExtension, Tokens } from 'marked';
import { texToMathml } from './tex.js';

/** A dollar sign before a price is none that begins a formula: Pandoc's rule. */
const INLINE =
  /^(?:\\\(((?:[^\\\n]|\\[^)\n])+?)\\\)|\$\$([^$\n]+?)\$\$|\$(?![\s$])((?:[^$\\\n]|\\[^\n])*?[^\s\\$])\$(?!\d))/;
const BLOCK = /^ {0,3}(?:\\\[(.+?)\\\]|\$\$(.+?)\$\$)[ \t]*(?:\n+|$)/s;

export const mathInMarkdown: MarkedExtension = {
  extensions: [
    {
      name: 'blockMath',
      level: 'block',
      start: (text) => startOf(text, /\n(?= {0,3}(?:\\\[|\$\$))/),
      tokenizer: (text) => tokenOf('blockMath', BLOCK.exec(text)),
      renderer: ({ tex, raw }) => `<div>${render(tex, raw, true)}</div>`,
    },
    {
      name: 'inlineMath',
      level: 'inline',
      start: (text) => startOf(text, /\\\(|\$/),
      tokenizer: (text) => tokenOf('inlineMath', INLINE.exec(text)),
      renderer: ({ tex, raw }) => render(tex, raw, raw.startsWith('$$')),
    },
  ],
};

function startOf(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text);
  return found === null ? undefined : found.index + (found[0] === '\n' ? 1 : 0);
}

function tokenOf(type: string, match: RegExpExecArray | null): Tokens.Generic | undefined {
  if (match === null) return undefined;
  const [raw, ...parts] = match;
  return { type, raw, tex: (parts.find((part) => part !== undefined) ?? '').trim() };
}

/** What is not understood stays as it was written. */
function render(tex: string, raw: string, display: boolean): string {
  const math = texToMathml(tex, display);
  return math ?? `<code>${raw.trim().replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</code>`;
}
