/** Vectors of texts. */
import type { FastifyInstance } from 'fastify';
import { jsonInSlices } from '../../../http/json-in-slices.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import {
  type EmbeddingsRequest,
  embeddingsReplySchema,
  embeddingsSchema,
} from '../../shared/text/embeddings-schema.js';
import { toEmbeddings } from '../../shared/text/to-embeddings.js';
import { withModel } from '../../shared/with-model.js';

const URL = '/v1/embeddings';

/** Adds the same endpoint at `url`, with the description `described`. */
export function embeddingsRoute(
  app: FastifyInstance,
  context: AppContext,
  url = URL,
  described = embeddingsOperation,
): void {
  const embed = withModel<EmbeddingsRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const { data, ...rest } = await toEmbeddings(engine, body, signal);
    record.readTexts(engine.model.id, rest.usage.prompt_tokens);
    return reply.type('application/json; charset=utf-8').send(await jsonInSlices(rest, 'data', data));
  });
  app.post<{ Body: EmbeddingsRequest }>(url, bodyRoute(context, embeddingsSchema, described), embed);
}

export const embeddingsOperation: Operation = {
  id: 'createEmbeddings',
  tag: 'Text',
  summary: 'Embeddings of texts, with length 1, as numbers or in base64.',
  requestName: 'EmbeddingsRequest',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'Embeddings', schema: embeddingsReplySchema } },
  examples: (model) => ({
    two: {
      summary: 'Two texts',
      request: { model, input: ['Hello!', 'Good morning'], encoding_format: 'base64' },
      reply: {
        object: 'list',
        model,
        data: [
          { object: 'embedding', index: 0, embedding: 'AACAPwAAAAA=' },
          { object: 'embedding', index: 1, embedding: 'AAAAAAAAgD8=' },
        ],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    },
  }),
};
