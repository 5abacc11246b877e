/** Converts a valid body of an embeddings request to its reply. */
import type { Engine } from '../../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { type EmbeddingsReply, type EmbeddingsRequest, MAX_EMBEDDING_INPUTS } from './embeddings-schema.js';
import { toInputs, tokenizeMixed } from './to-inputs.js';

type EmbeddingData = EmbeddingsReply['data'][number];

/** Embeddings are encoded one by one while they are read, because there may be millions of numbers. */
export interface LazyEmbeddingsReply extends Omit<EmbeddingsReply, 'data'> {
  data: Iterable<EmbeddingData>;
}

/** `field`: the name of the input in the request. */
export async function toEmbeddings(
  engine: Engine,
  body: EmbeddingsRequest,
  signal: AbortSignal,
  field = 'input',
): Promise<LazyEmbeddingsReply> {
  const names = { input: field, dimensions: 'dimensions' };
  const { vectors, promptTokens } = await toVectors(engine, body, signal, names);
  return {
    object: 'list',
    model: engine.model.id,
    data: toData(vectors, encoderOf(body)),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

export function encoderOf({ encoding_format, dimensions }: Pick<EmbeddingsRequest, 'encoding_format' | 'dimensions'>) {
  const encode = encoding_format === 'base64' ? toBase64 : (vector: Float32Array) => Array.from(vector);
  return (vector: Float32Array) => encode(shorten(vector, dimensions));
}

/**
 * Returns vectors of full length. `names`: names of the fields in the request, for errors. `takesTokens`: the reply may
 * have several vectors for an input, which are joined here.
 */
export async function toVectors(
  engine: Engine,
  { input, dimensions }: { input: EmbeddingsRequest['input']; dimensions?: number | undefined },
  signal: AbortSignal,
  names: { input: string; dimensions: string },
  takesTokens = false,
): Promise<{ vectors: Float32Array[]; promptTokens: number }> {
  const { id, pooling } = engine.model;
  if (pooling === 'none' && !takesTokens) {
    const message = `The model \`${id}\` has the load option \`pooling\` "none": it returns a vector for each token, at \`/embedding\` only.`;
    throw new ChasquiError('model_not_capable', message, 'model');
  }
  refuseLonger(dimensions, engine.model.vectorLength, names.dimensions);
  const asInputs = await tokenizeMixed(engine, input, names.input, { signal });
  const { inputs, nameOf } = toInputs(asInputs, names.input, MAX_EMBEDDING_INPUTS);
  return renamingInputs(engine.embed(inputs, { signal }), nameOf);
}

function refuseLonger(wanted: number | undefined, length: number, param: string): void {
  if (wanted === undefined || wanted <= length) return;
  throw invalidValue(
    `\`${param}\` must be at most ${length}, the length of this model's embeddings, but got ${wanted}.`,
    param,
  );
}

/**
 * Returns the first `length` numbers, normalized again. Only some models are trained for this, and their files do not
 * say so.
 */
export function shorten(vector: Float32Array, length = vector.length): Float32Array {
  if (length === vector.length) return vector;
  const norm = Math.hypot(...vector.subarray(0, length)) || 1;
  return vector.subarray(0, length).map((value) => value / norm);
}

/** Translates the engine's name of an input, `input[0]`, to the name in the request. */
export async function renamingInputs<T>(work: Promise<T>, nameOf: (index: number) => string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ChasquiError) || !error.param?.startsWith('input[')) throw error;
    const rename = (text: string): string => text.replace(/\binput\[(\d+)\]/g, (_, index) => nameOf(Number(index)));
    throw error.withMessage(rename(error.message), rename(error.param));
  }
}

function* toData(
  vectors: readonly Float32Array[],
  encode: (vector: Float32Array) => EmbeddingData['embedding'],
): Generator<EmbeddingData> {
  for (const [index, vector] of vectors.entries()) yield { object: 'embedding', index, embedding: encode(vector) };
}

export function toBase64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}
