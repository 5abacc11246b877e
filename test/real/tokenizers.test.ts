// Token ids equal those of Hugging Face's `tokenizers`: on 10,000 texts in 99 languages, and on as many changed ones.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toPreparerRequest } from '../../ts/engine/to-native-options.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { textEntry } from '../support/gguf.js';
import { pythonWith } from '../support/pypi.js';
import { writeTokenizer } from './minilm.js';
import { TOKENIZERS, textsOfLanguages } from './texts.js';
import { bpeTokenizer, unigramTokenizer, vocabularyFile, withEntries, writeBertVocabulary } from './vocabularies.js';

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

const texts = textsOfLanguages();
fs.writeFileSync(inFolder('texts.json'), JSON.stringify(texts));

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
  writeTokenizer(inFolder('minilm.json'));
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
