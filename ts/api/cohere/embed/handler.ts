/** Embeddings of texts in Cohere's API, version 2. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { arrayInSlices } from '../../../http/json-in-slices.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { shortenTexts } from '../../shared/text/shorten-texts.js';
import { shorten, toBase64, toVectors } from '../../shared/text/to-embeddings.js';
import { withModel } from '../../shared/with-model.js';
import {
  type CohereEmbeddings,
  type CohereEmbedRequest,
  cohereEmbeddingsSchema,
  cohereEmbedSchema,
  type EmbeddingType,
} from './schema.js';

const URL = '/v2/embed';

export function cohereEmbedRoute(app: FastifyInstance, context: AppContext): void {
  const embed = withModel<CohereEmbedRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const { texts, truncate = 'END', embedding_types: types = ['float'], output_dimension: dimensions } = body;
    const input = truncate === 'END' ? await shortenTexts(engine, texts, { signal }) : texts;
    const names = { input: 'texts', dimensions: 'output_dimension' };
    const { vectors, promptTokens } = await toVectors(engine, { input, dimensions }, signal, names);
    record.readTexts(engine.model.id, promptTokens);
    const rest: Omit<CohereEmbeddings, 'embeddings'> = {
      id: `embd-${randomBytes(16).toString('hex')}`,
      response_type: 'embeddings_by_type',
      texts,
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: promptTokens } },
    };
    const embeddings: string[] = [];
    for (const type of new Set(types)) {
      const items = encode(vectors, (vector) => ENCODINGS[type](shorten(vector, dimensions)));
      embeddings.push(`"${type}":${await arrayInSlices(items)}`);
    }
    const json = `${JSON.stringify(rest).slice(0, -1)},"embeddings":{${embeddings.join(',')}}}`;
    return reply.type('application/json; charset=utf-8').send(json);
  });
  app.post<{ Body: CohereEmbedRequest }>(URL, bodyRoute(context, cohereEmbedSchema, operation), embed);
}

const ENCODINGS: Readonly<Record<EmbeddingType, (vector: Float32Array) => unknown>> = {
  float: (vector) => Array.from(vector),
  base64: toBase64,
  binary: (vector) => signs(vector).map((byte) => byte - 128),
  ubinary: signs,
};

/** One bit for each number, the first in the highest bit; set if the number is positive. */
function signs(vector: Float32Array): number[] {
  const bytes = new Array<number>(Math.ceil(vector.length / 8)).fill(0);
  for (const [index, value] of vector.entries()) {
    if (value > 0) bytes[index >> 3] = (bytes[index >> 3] as number) | (128 >> (index & 7));
  }
  return bytes;
}

/** One by one as they are read, because there may be millions of numbers. */
function* encode(vectors: readonly Float32Array[], to: (vector: Float32Array) => unknown): Generator<unknown> {
  for (const vector of vectors) yield to(vector);
}

const operation: Operation = {
  id: 'cohereEmbed',
  tag: 'Text',
  summary: 'Embeddings of texts (Cohere).',
  requestName: 'CohereEmbedRequest',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'CohereEmbeddings', schema: cohereEmbeddingsSchema } },
  examples: (model) => ({
    two: {
      summary: 'Two texts',
      request: { model, texts: ['Hello!', 'Good morning'], input_type: 'search_query', embedding_types: ['float'] },
      reply: {
        id: 'embd-0',
        response_type: 'embeddings_by_type',
        texts: ['Hello!', 'Good morning'],
        meta: { api_version: { version: '2' }, billed_units: { input_tokens: 7 } },
        embeddings: {
          float: [
            [1, 0],
            [0, 1],
          ],
        },
      },
    },
  }),
};
