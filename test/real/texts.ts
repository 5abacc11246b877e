/** 10,000 texts in 99 languages, and as many changed ones. */
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../support/places.js';
import { pythonWith, wheelOf } from '../support/pypi.js';
import { seededRandom } from '../support/seeded-random.js';

/** Packages of the references in `reference.py`. */
export const TOKENIZERS = ['tokenizers==0.23.3'];

/** Characters and words with rules of their own. */
const INSERTED = [
  ...['😀', '👩‍👩‍👧‍👦', '❤️', '👍🏽', '🇩🇪', '1️⃣', '©️', '½', 'ﬁ', 'Ⅷ', '①', '㎏', 'ｶﾞ', 'ａｂｃ', 'İ', 'ß', 'ǅ', 'Å'],
  ...[
    '\u200b',
    '\u200d',
    '\u00ad',
    '\ufeff',
    '\u3000',
    '\xa0',
    '\u2028',
    '\x85',
    '\x0b',
    '\x07',
    '\t',
    '\n',
    '\r\n',
    '  ',
  ],
  ...[
    'a\u0301\u0323',
    'e\u0302\u0301',
    'か\u3099',
    'क\u093c',
    'क\u094d\u0937',
    '\u09cb',
    '한글',
    '\u1100\u1161\u11a8',
    '\u0e33',
  ],
  ...['1234567', '3.14', 'foo_bar', 'x=y+1;', 'https://a.b/c?d=e', "don't", "I'LL", 'a'.repeat(101), 'é'.repeat(100)],
];

const random = seededRandom(1);
const below = (count: number) => Math.floor(random() * count);

function changed(text: string, i: number): string {
  const characters = [...text];
  const pick = <T>(items: readonly T[]) => items[below(items.length)] as T;
  switch (i % 6) {
    case 0:
      return text.normalize('NFD');
    case 1:
      return text.normalize('NFKD').toUpperCase();
    case 2:
      for (let n = 0; n < 4; n++) characters.splice(below(characters.length + 1), 0, pick(INSERTED));
      return characters.join('');
    case 3:
      return Array.from({ length: 20 }, () => pick(INSERTED)).join(pick(['', ' ']));
    case 4:
      return characters.map(() => pick(characters)).join('');
    default:
      return characters.map((character) => (below(3) === 0 ? assigned() : character)).join('');
  }
}

/** Unicode 16, which llama.cpp's tables lack. */
const RECENT = /[\u0897\u1b4e\u1b4f\u1b7f\u1c89\u1c8a\u2427-\u2429\u31e4\u31e5\ua7cb-\ua7cd\ua7da-\ua7dc]/u;

function assigned(): string {
  for (;;) {
    const character = String.fromCodePoint(1 + below(below(2) === 0 ? 0x3100 : 0x10000));
    const isAssigned = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{Cc}]$/u.test(character);
    if (isAssigned && !RECENT.test(character)) return character;
  }
}

let all: string[] | undefined;

/** The same list in each call. */
export function textsOfLanguages(): readonly string[] {
  all ??= read();
  return all;
}

function read(): string[] {
  const folder = fs.mkdtempSync(path.join(root, 'build', 'real-texts-'));
  const file = path.join(folder, 'texts.json');
  const reference = path.join(import.meta.dirname, 'reference.py');
  pythonWith(TOKENIZERS, [reference, 'texts', wheelOf('Django==5.2.19'), file]);
  const plain: string[] = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.rmSync(folder, { recursive: true });
  return [...plain, ...plain.map(changed)];
}
