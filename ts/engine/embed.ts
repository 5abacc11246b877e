/** Computes embeddings of texts, and scores of documents. */
import { ChasquiError, invalidValue } from '../errors.js';
import type { NativeTokenLists } from '../native/addon.js';
import type { Caller } from './calls.js';
import { checkTokens } from './check-tokens.js';
import type {
  AbortOptions,
  Embeddings,
  EmbedInput,
  ImagePrompt,
  ModelInfo,
  Ranking,
  TextInput,
} from './engine-types.js';

/** In the vectors of one request without pooling. */
const MAX_NUMBERS = 4 * 2 ** 20;

export async function embed(
  caller: Caller,
  model: ModelInfo,
  inputs: readonly EmbedInput[],
  on?: AbortOptions,
): Promise<Embeddings> {
  if (model.pooling === 'rank') {
    throw notCapable(model, 'ranks documents and makes no embeddings; ask it to rerank instead');
  }
  if (inputs.every(isText)) return embedTexts(caller, model, inputs, on);
  const vectors: Float32Array[] = [];
  let promptTokens = 0;
  for (const [index, input] of inputs.entries()) {
    const embedded = await embedOne(caller, model, input, on).catch((error) => {
      if (!(error instanceof ChasquiError) || error.param !== ONLY) throw error;
      const param = `input[${index}]`;
      throw error.withMessage(error.message.replaceAll(ONLY, param), param);
    });
    vectors.push(...embedded.vectors);
    promptTokens += embedded.promptTokens;
  }
  return { vectors, promptTokens };
}

/** The name of a single input in errors. */
const ONLY = 'input[0]';

function embedOne(caller: Caller, model: ModelInfo, input: EmbedInput, on?: AbortOptions): Promise<Embeddings> {
  return isText(input) ? embedTexts(caller, model, [input], on) : embedPrompt(caller, model, input, on);
}

function isText(input: EmbedInput): input is TextInput {
  return typeof input === 'string' || !('images' in input);
}

async function embedPrompt(
  caller: Caller,
  model: ModelInfo,
  { prompt, images }: ImagePrompt,
  on?: AbortOptions,
): Promise<Embeddings> {
  try {
    const max = Math.min(model.embeddingContextLength, maxSize(model));
    const { vector, promptTokens } = await caller.call('embedPrompt', [prompt, images, max], on);
    checkLength(promptTokens, model.embeddingContextLength, ONLY);
    checkSize(promptTokens, model);
    return { vectors: [vector as Float32Array], promptTokens };
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.imageIndex === undefined) throw error;
    throw error.withMessage(`Image ${error.imageIndex} of \`${ONLY}\`: ${error.message}`, ONLY);
  }
}

async function embedTexts(
  caller: Caller,
  model: ModelInfo,
  inputs: readonly TextInput[],
  on?: AbortOptions,
): Promise<Embeddings> {
  const tokenized = await tokenize(caller, model, inputs, on);
  checkSize(
    tokenized.reduce((sum, tokens) => sum + tokens.length, 0),
    model,
  );
  const { values, promptTokens } = await compute(caller, model, tokenized, 'input', on);
  if (model.pooling !== 'none') return { vectors: slices(values, inputs.length), promptTokens };
  let end = 0;
  const vectors = tokenized.map((tokens) => {
    const length = tokens.length * model.vectorLength;
    end += length;
    return values.subarray(end - length, end);
  });
  return { vectors, promptTokens };
}

/** Without pooling, each token has a vector. */
function maxSize({ pooling, vectorLength }: ModelInfo): number {
  return pooling === 'none' ? Math.floor(MAX_NUMBERS / vectorLength) : Number.POSITIVE_INFINITY;
}

function checkSize(count: number, model: ModelInfo): void {
  const max = maxSize(model);
  if (count <= max) return;
  const message = `\`input\` has ${count} tokens, but without pooling at most ${max} are embedded at a time.`;
  throw new ChasquiError('invalid_value', message, 'input');
}

export async function rank(
  caller: Caller,
  model: ModelInfo,
  query: string,
  documents: readonly string[],
  on?: AbortOptions,
): Promise<Ranking> {
  if (model.pooling !== 'rank') throw notCapable(model, 'has no head for ranking documents');
  const tokenized = await tokenizePairs(caller, model, query, documents, on);
  const { values, promptTokens } = await compute(caller, model, tokenized, 'documents', on);
  // A head with several outputs classifies; llama.cpp ranks by the first one.
  return { scores: slices(values, documents.length).map((scores) => scores[0] ?? 0), promptTokens };
}

/** Tokenizes all texts in one call, which ends at the first that is too long. */
async function tokenize(
  caller: Caller,
  model: ModelInfo,
  inputs: readonly TextInput[],
  on?: AbortOptions,
): Promise<Int32Array[]> {
  const places = inputs.flatMap((input, place) => (typeof input === 'string' ? [place] : []));
  const texts = places.map((place) => inputs[place] as string);
  const lists = await tokenizeTexts(caller, model, texts, (place) => `input[${places[place]}]`, on);
  const rest = lists.values();
  return inputs.map((input) =>
    typeof input === 'string' ? (rest.next().value as Int32Array) : Int32Array.from(input),
  );
}

async function tokenizePairs(
  caller: Caller,
  model: ModelInfo,
  query: string,
  documents: readonly string[],
  on?: AbortOptions,
): Promise<Int32Array[]> {
  const max = model.embeddingContextLength;
  const pairs = await caller.call('tokenizePairs', [query, documents, max], on);
  // If the query alone is too long, name the query and not the document that it was joined with.
  if (pairs.lengths.some((length) => length < 0 || length > max)) {
    await tokenizeTexts(caller, model, [query], () => 'query', on);
  }
  return split(pairs, max, (place) => `documents[${place}]`);
}

async function tokenizeTexts(
  caller: Caller,
  { embeddingContextLength: max }: ModelInfo,
  texts: readonly string[],
  nameOf: (place: number) => string,
  on?: AbortOptions,
): Promise<Int32Array[]> {
  if (texts.length === 0) return [];
  return split(await caller.call('tokenizeInputs', [texts, max], on), max, nameOf);
}

function split({ tokens, lengths }: NativeTokenLists, max: number, nameOf: (place: number) => string): Int32Array[] {
  let end = 0;
  return Array.from(lengths, (length, place) => {
    checkLength(length, max, nameOf(place));
    end += length;
    return tokens.subarray(end - length, end);
  });
}

async function compute(
  caller: Caller,
  { embeddingContextLength, vocabularySize }: ModelInfo,
  inputs: readonly Int32Array[],
  name: string,
  on?: AbortOptions,
) {
  for (const [index, tokens] of inputs.entries()) {
    const param = `${name}[${index}]`;
    if (tokens.length === 0) throw invalidValue(`\`${param}\` cannot be empty.`, param);
    checkLength(tokens.length, embeddingContextLength, param);
    checkTokens(tokens, param, vocabularySize);
  }
  const lengths = Int32Array.from(inputs, (tokens) => tokens.length);
  const promptTokens = lengths.reduce((sum, length) => sum + length, 0);
  if (inputs.length === 0) return { values: new Float32Array(0), promptTokens };
  const joined = new Int32Array(promptTokens);
  let at = 0;
  for (const tokens of inputs) {
    joined.set(tokens, at);
    at += tokens.length;
  }
  return { values: await caller.call('embed', [joined, lengths], on), promptTokens };
}

/** Clients of llama-server recognize the error by "too large". A negative length means that there are at least as many tokens. */
function checkLength(length: number, max: number, param: string): void {
  if (length >= 0 && length <= max) return;
  const has = length < 0 ? `at least ${-length}` : `${length}`;
  const error = new ChasquiError(
    'context_length_exceeded',
    `\`${param}\` has ${has} tokens and is too large: this model takes at most ${max} at a time. Split or shorten it.`,
    param,
  );
  throw Object.assign(error, { promptTokens: Math.abs(length), contextLength: max });
}

function notCapable({ id }: ModelInfo, why: string): ChasquiError {
  return new ChasquiError('model_not_capable', `The model \`${id}\` ${why}.`);
}

/** Splits `values` into equal parts. */
function slices(values: Float32Array, count: number): Float32Array[] {
  const length = values.length / count;
  return Array.from({ length: count }, (_, index) => values.subarray(index * length, (index + 1) * length));
}
