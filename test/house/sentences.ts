/** Sentences of comments, messages and pages, and the patterns of those that a reader has to read twice. */
import { read } from './source-tree.ts';

const SIGNS: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/\b(who(ever|m|se)?|nobody|somebody|everybody|anybody)\b/i, 'name the part: client, caller, request, model'],
  [
    /(^|[.:;] )(Of|What|Whatever|Whichever|Which|Where) (?!(is|are|does|do|happens|now|follows|if|you|to)\b)[a-z]+( [a-z`'_-]+){2,}/,
    'begin with the subject',
  ],
  [/\b(of|for|to|in|by|from|with|on|after|before) (which|whom)\b/i, 'split the sentence'],
  [
    /\b(comes? back|goes? on|gone on|stands? for|is to be|are to be|was to be|had to be had|be had|may be had|for want of)\b/i,
    'use the plain verb',
  ],
  [
    /\b(of its own accord|all the same|no more than|nothing more|anew|hither|thereby|therein|of before|of late|lest)\b/i,
    'use the plain word',
  ],
  [/\b(things?|something|so much|that much|that far|as far as|the like|and the rest|and what)\b/i, 'be specific'],
  [/^(?=(\S+\s+){48})(?=.*(, [^,.]{3,60}){4})/s, 'split the sentence'],
];

interface Block {
  /** Number of the line where it begins. */
  line: number;
  text: string;
}

/** The hard sentences of a file, as `file:line: advice: sentence`. */
export function hardSentences(file: string): string[] {
  const lines = read(file).split('\n');
  const blocks = file.endsWith('.md') ? paragraphs(lines) : [...comments(lines), ...messages(lines)];
  return blocks.flatMap(({ line, text }) =>
    sentences(text).flatMap((sentence) => {
      const sign = SIGNS.find(([pattern]) => pattern.test(sentence));
      return sign ? [`${file}:${line}: ${sign[1]}: ${sentence}`] : [];
    }),
  );
}

/** Of four words or more; code and the targets of links are left out. */
function sentences(text: string): string[] {
  const plain = text.replace(/`[^`]*`/g, 'X').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  const parts = plain.split(/(?<=[.!?])\s+(?=[A-Z`])/).map((part) => part.trim().replace(/\s+/g, ' '));
  return parts.filter((part) => part.split(' ').length >= 4);
}

/** Joins lines that follow each other. `textOf` returns undefined for a line that ends a block. */
function join(lines: readonly string[], textOf: (line: string) => string | undefined): Block[] {
  const blocks: Block[] = [];
  let current: Block | undefined;
  for (const [index, line] of lines.entries()) {
    const text = textOf(line);
    if (text === undefined) current = undefined;
    else if (current) current.text += ` ${text}`;
    else {
      current = { line: index + 1, text };
      blocks.push(current);
    }
  }
  return blocks;
}

function comments(lines: readonly string[]): Block[] {
  return join(lines, (line) => /^\s*(?:\/\/+|\/\*\*?|\*(?!\/))\s?(.*?)(?:\*\/)?\s*$/.exec(line)?.[1]);
}

/** Strings that read as sentences. */
function messages(lines: readonly string[]): Block[] {
  return lines.flatMap((line, index) => {
    const texts = [...line.matchAll(/(['"`])([A-Z][^'"`]{25,400})\1/g)].map(([, , text = '']) => text);
    const prose = texts.filter((text) => / [a-z]+ [a-z]+ /.test(text));
    return prose.map((text) => ({ line: index + 1, text: text.replace(/\$\{[^}]*\}/g, 'X') }));
  });
}

/** Without code, tables, headings and quotations. An item of a list is a paragraph. */
function paragraphs(lines: readonly string[]): Block[] {
  let isCode = false;
  const split = lines.flatMap((line) => (/^\s*([-*]|\d+\.) /.test(line) ? ['', line] : [line]));
  return join(split, (line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const isProse = !isCode && /\S/.test(line) && !/^\s*(\||#|>|```|!\[)/.test(line);
    return isProse ? line.trim().replace(/^([-*]|\d+\.) /, '') : undefined;
  });
}
