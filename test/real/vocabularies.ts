/** Vocabularies as GGUF files and as `tokenizer.json`, the format of the `tokenizers` library. */
import fs from 'node:fs';
import path from 'node:path';
import { type Entry, int32ArrayEntry, readEntries, readValue, textsEntry, writeGguf } from '../support/gguf.js';

const models = path.join(import.meta.dirname, '..', '..', 'vendor', 'llama.cpp', 'models');

/** A vocabulary of llama.cpp's tests. */
export const vocabularyFile = (name: string) => path.join(models, `ggml-vocab-${name}.gguf`);

/** Writes a copy with other metadata. */
export function withEntries(file: string, out: string, changed: readonly Entry[]): void {
  const keys = new Set(changed.map(({ key }) => key));
  writeGguf(out, [...readEntries(file).filter(({ key }) => !keys.has(key)), ...changed], []);
}

const NORMAL = 1;
const CONTROL = 3;

/** Writes the vocabulary of a BERT model: "▁word" and "piece" for "word" and "##piece". */
export function writeBertVocabulary(tokenizerJson: string, out: string): void {
  const { model, added_tokens: added } = JSON.parse(fs.readFileSync(tokenizerJson, 'utf8'));
  const special = new Set(added.map(({ content }: { content: string }) => content));
  const tokens = Object.entries(model.vocab as Record<string, number>)
    .sort(([, one], [, other]) => one - other)
    .map(([token]) => token);
  const inFile = (token: string) => (token.startsWith('##') ? token.slice(2) : `▁${token}`);
  withEntries(vocabularyFile('bert-bge'), out, [
    textsEntry(
      'tokenizer.ggml.tokens',
      tokens.map((token) => (special.has(token) ? token : inFile(token))),
    ),
    int32ArrayEntry(
      'tokenizer.ggml.token_type',
      tokens.map((token) => (special.has(token) ? CONTROL : NORMAL)),
    ),
  ]);
}

/** Multilingual E5's tokenizer, which is XLM-RoBERTa's. */
export function unigramTokenizer(file: string): object {
  const value = valuesOf(file);
  const scores = value('scores') as number[];
  return {
    version: '1.0',
    added_tokens: [],
    normalizer: {
      type: 'Precompiled',
      precompiled_charsmap: Buffer.from(Int8Array.from(value('precompiled_charsmap') as number[]).buffer).toString(
        'base64',
      ),
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'WhitespaceSplit' },
        { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
      ],
    },
    model: {
      type: 'Unigram',
      unk_id: value('unknown_token_id'),
      vocab: (value('tokens') as string[]).map((token, id) => [token, scores[id]]),
      byte_fallback: false,
    },
  };
}

/** `splits`: regular expressions of the model's pre-tokenizer; none: GPT-2's. */
export function bpeTokenizer(file: string, splits: readonly string[], ignoreMerges: boolean): object {
  const value = valuesOf(file);
  const vocab = Object.fromEntries((value('tokens') as string[]).map((token, id) => [token, id]));
  const isUsable = (merge: string) => {
    const [left, right, ...rest] = merge.split(' ');
    return rest.length === 0 && [left, right, `${left}${right}`].every((part) => Object.hasOwn(vocab, part ?? ''));
  };
  return {
    version: '1.0',
    added_tokens: [],
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...splits.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })),
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: splits.length === 0 },
      ],
    },
    model: {
      type: 'BPE',
      vocab,
      merges: (value('merges') as string[]).filter(isUsable),
      ignore_merges: ignoreMerges,
      fuse_unk: false,
      byte_fallback: false,
    },
  };
}

function valuesOf(file: string): (name: string) => unknown {
  const entries = new Map(readEntries(file).map((entry) => [entry.key, entry]));
  return (name) => {
    const entry = entries.get(`tokenizer.ggml.${name}`);
    if (!entry) throw new Error(`${file} has no tokenizer.ggml.${name}`);
    return readValue(entry);
  };
}
