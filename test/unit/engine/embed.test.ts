import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { embed, rank } from '../../../ts/engine/embed.js';
import type { TextInput } from '../../../ts/engine/engine.js';
import { ChasquiError } from '../../../ts/errors.js';
import type { NativeModelInfo, NativeTokenLists } from '../../../ts/native/addon.js';
import { fakeCore } from '../../support/fake-core.js';
import { FakeEngine } from '../../support/fake-engine.js';

const MAX_TOKENS = 8;

/** Takes a character for a token, and tells beforehand that a text of more than 100 is too long. */
function tokenizedTo(texts: readonly string[]): NativeTokenLists {
  const tokens: number[] = [];
  const lengths: number[] = [];
  for (const text of texts) {
    lengths.push(text.length > 100 ? -Math.floor(text.length / 2) : text.length);
    if (text.length > MAX_TOKENS) break;
    tokens.push(...Buffer.from(text));
  }
  return { tokens: Int32Array.from(tokens), lengths: Int32Array.from(lengths) };
}

function embedder(pooling: NativeModelInfo['pooling']) {
  const asked: string[] = [];
  const native = fakeCore({
    tokenizeInputs: async (texts: readonly string[]) => {
      asked.push(`inputs ${texts.length}`);
      return tokenizedTo(texts);
    },
    tokenizePairs: async (query: string, documents: readonly string[]) => {
      asked.push(`pairs ${documents.length}`);
      return tokenizedTo(documents.map((document) => query + document));
    },
    /** A text's score is its first token. */
    embed: async (tokens: Int32Array, lengths: Int32Array) => {
      const starts = Array.from(lengths, (_, at) => lengths.slice(0, at).reduce((sum, length) => sum + length, 0));
      return Float32Array.from(starts, (start) => tokens[start] ?? 0);
    },
  });
  const model = { ...new FakeEngine().model, pooling, embeddingContextLength: MAX_TOKENS, vocabularySize: 256 };
  const embedder = {
    embed: (inputs: readonly TextInput[]) => embed(native, model, inputs),
    rank: (query: string, documents: readonly string[]) => rank(native, model, query, documents),
  };
  return { asked, embedder };
}

async function refusal(work: Promise<unknown>): Promise<[code: string, param: string | null, message: string]> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ChasquiError) return [error.code, error.param, error.message];
    throw error;
  }
  throw new Error('It was not refused.');
}

test('texts are tokenized in one call, and stay in their places among tokens', async () => {
  const { asked, embedder: mean } = embedder('mean');
  const { vectors, promptTokens } = await mean.embed(['ab', [7, 8], 'c']);
  assert.equal(asked, ['inputs 2']);
  assert.equal(
    vectors.map((vector) => vector[0]),
    [97, 7, 99],
  );
  assert.is(promptTokens, 5);
});

test('the input that is too long is named by its own place', async () => {
  const { embedder: mean } = embedder('mean');
  const [code, param, message] = await refusal(mean.embed([[1], 'a', [2], 'b'.repeat(9), 'c']));
  assert.equal([code, param], ['context_length_exceeded', 'input[3]']);
  assert.match(message, /has 9 tokens and is too large: this model takes at most 8/);
  assert.match((await refusal(mean.embed(['x'.repeat(1000)])))[2], /`input\[0\]` has at least 500 tokens/);
  assert.is((await refusal(mean.embed([Array(9).fill(1)])))[1], 'input[0]');
  const empty = await refusal(mean.embed(['a', '']));
  assert.equal(empty, ['invalid_value', 'input[1]', '`input[1]` cannot be empty.']);
});

test('a query goes to native code once, however many documents there are', async () => {
  const { asked, embedder: rank } = embedder('rank');
  const { scores } = await rank.rank('q', Array(2048).fill('d'));
  assert.equal(asked, ['pairs 2048']);
  assert.is(scores.length, 2048);
});

test('a query that is too long by itself is named, not the document beside it', async () => {
  const { embedder: rank } = embedder('rank');
  assert.equal((await refusal(rank.rank('q'.repeat(9), ['d']))).slice(0, 2), ['context_length_exceeded', 'query']);
  assert.equal((await refusal(rank.rank('q', ['d', 'd'.repeat(8)]))).slice(0, 2), [
    'context_length_exceeded',
    'documents[1]',
  ]);
});

test.run();
