import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type LoadOptions, loadModel } from '../../ts/index.js';
import { ENCODER_CONTEXT, writeDecoder, writeEncoder } from '../support/random-model.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-rank-'));
test.after(() => rmSync(folder, { recursive: true }));

const QUERY = 'What does the fox do?';
const DOCUMENTS = [
  'hello world',
  "The quick brown fox jumps over the lazy dog, doesn't it?",
  'Ein naïver Café-Besuch: 日本',
  'word '.repeat(100),
];
// What llama-server (`--reranking`) of the same llama.cpp gives.
const SCORES = [-1.50104, -1.43499, -1.34244, -1.90362];

async function assertScores(path: string, options: LoadOptions = {}): Promise<void> {
  const model = await loadModel(path, { threads: 2, ...options });
  const { scores, promptTokens } = await model.rank(QUERY, DOCUMENTS);
  scores.forEach((score, index) => {
    assert.ok(Math.abs(score - (SCORES[index] as number)) < 1e-2, `document ${index}: ${score}, not ${SCORES[index]}`);
  });
  const lengths = await Promise.all([QUERY, ...DOCUMENTS].map(async (text) => (await model.tokenize(text)).length));
  const [query = 0, ...documents] = lengths;
  // [CLS] query [SEP] document [SEP], where the vocabulary says that texts end so.
  const ofTexts = documents.reduce((sum, length) => sum + length + query, 0);
  assert.ok(promptTokens > ofTexts && promptTokens <= ofTexts + 4 * documents.length, `${promptTokens} tokens`);
  await model.close();
}

async function refusal(path: string, options: LoadOptions, ask: 'embed' | 'rank' | 'load'): Promise<ChasquiError> {
  try {
    const model = await loadModel(path, { threads: 1, ...options });
    try {
      if (ask === 'embed') await model.embed(['a']);
      if (ask === 'rank') await model.rank('a', ['b', 'c '.repeat(2 * ENCODER_CONTEXT)]);
    } finally {
      await model.close();
    }
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error('nothing was refused');
}

test('a ranking model’s scores are llama.cpp’s', () => assertScores(writeEncoder(join(folder, 'rank.gguf'), 'rank')));

test('a head that the file does not mention is used when an option says so', () =>
  assertScores(writeEncoder(join(folder, 'head.gguf'), 'none', true), { pooling: 'rank' }));

test('a template of its own gets query and document as they are, wherever it wants them', async () => {
  const between = (query: string, document: string) => `query {x} ${query} document ${document} again ${query}`;
  const template = between('{query}', '{document}');
  const path = writeEncoder(join(folder, 'template.gguf'), 'rank', true, ENCODER_CONTEXT, template);
  const model = await loadModel(path, { threads: 1 });
  const document = 'The quick brown fox, jumps over, the lazy dog, and away.';
  for (const [query, text] of [
    [QUERY, document],
    ['What is {document}, then?', document],
    [QUERY, 'hello {query} and {document}'],
    ['{query}', '{query}'],
  ] as const) {
    const { promptTokens } = await model.rank(query, [text]);
    const expected = await model.tokenize(between(query, text), { parseSpecial: true });
    assert.is(promptTokens, expected.length, query);
  }
  await model.close();
});

test('a model without a head cannot be told to rank', async () => {
  for (const path of [writeEncoder(join(folder, 'mean.gguf'), 'mean'), writeDecoder(join(folder, 'decoder.gguf'))]) {
    const error = await refusal(path, { pooling: 'rank' }, 'load');
    assert.is(error.code, 'invalid_options');
    assert.match(error.message, 'no head for ranking');
  }
});

test('a ranking model makes no embeddings, another one no scores', async () => {
  const ranking = await refusal(writeEncoder(join(folder, 'rank.gguf'), 'rank'), {}, 'embed');
  assert.is(ranking.code, 'model_not_capable');
  const embedding = await refusal(writeEncoder(join(folder, 'mean.gguf'), 'mean'), {}, 'rank');
  assert.is(embedding.code, 'model_not_capable');
});

test('a document that is too long is named', async () => {
  const error = await refusal(writeEncoder(join(folder, 'rank.gguf'), 'rank'), {}, 'rank');
  assert.is(error.code, 'context_length_exceeded');
  assert.is(error.param, 'documents[1]');
});

test.run();
