/** llama-server's endpoints for embeddings of texts and images. */
import type { FastifyInstance } from 'fastify';
import type { AbortOptions, Embeddings, Engine } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { arrayInSlices } from '../../../http/json-in-slices.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { encoderOf, renamingInputs, toVectors } from '../../shared/text/to-embeddings.js';
import { withModel } from '../../shared/with-model.js';
import { hasMedia, toMediaPrompts, toMixedInputs } from '../prompt-objects.js';
import {
  type NativeEmbeddingReply,
  type NativeEmbeddingRequest,
  nativeEmbeddingReplySchema,
  nativeEmbeddingSchema,
  type PromptField,
} from '../schema.js';

export function nativeEmbeddingRoute(app: FastifyInstance, context: AppContext): void {
  const embed = withModel<NativeEmbeddingRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const { content, input = content, ...rest } = body;
    if (input === undefined) {
      throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `input`.', 'input');
    }
    const field = body.input === undefined ? 'content' : 'input';
    const names = { input: field, dimensions: 'dimensions' };
    const { vectors, promptTokens } = hasMedia(input)
      ? await embedImages(engine, input, field, { signal })
      : await toVectors(engine, { ...rest, input: toMixedInputs(input) }, signal, names, true);
    const { id, vectorLength } = engine.model;
    record.readTexts(id, promptTokens);
    const encode = encoderOf(rest);
    const items = toNative(vectors, (vector) => split(vector, vectorLength).map(encode));
    return reply.type('application/json; charset=utf-8').send(await arrayInSlices(items));
  });
  app.post<{ Body: NativeEmbeddingRequest }>('/embedding', bodyRoute(context, nativeEmbeddingSchema, operation), embed);
}

async function embedImages(
  engine: Engine,
  field: Exclude<PromptField, number>,
  name: string,
  on: AbortOptions,
): Promise<Embeddings> {
  const { prompts, images } = await toMediaPrompts(engine.model, field, name, on);
  const inputs = prompts.map((prompt, index) => {
    const own = images[index] ?? [];
    return own.length > 0 ? { prompt, images: own } : prompt;
  });
  const nameOf = (index: number): string => (Array.isArray(field) ? `${name}[${index}]` : name);
  return renamingInputs(engine.embed(inputs, on), nameOf);
}

type Item = NativeEmbeddingReply[number];

function* toNative(
  vectors: readonly Float32Array[],
  encode: (vector: Float32Array) => Item['embedding'],
): Generator<Item> {
  for (const [index, vector] of vectors.entries()) yield { index, embedding: encode(vector) };
}

/** One vector with pooling; without it, one for each token. */
function split(vector: Float32Array, length: number): Float32Array[] {
  return Array.from({ length: vector.length / length }, (_, at) => vector.subarray(at * length, (at + 1) * length));
}

const operation: Operation = {
  id: 'embedTexts',
  tag: 'llama-server',
  summary:
    'Embeddings of texts and images, with length 1; without pooling those of their tokens, unscaled (llama-server).',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'NativeEmbeddings', schema: nativeEmbeddingReplySchema } },
  examples: (model) => ({
    one: {
      summary: 'A greeting',
      request: { model, content: 'Hello!' },
      reply: [{ index: 0, embedding: [[1, 0]] }],
    },
  }),
};
