/** Vectors of texts, as llama-server gives them. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import { arrayInSlices } from '../../../http/json-in-slices.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { type LazyEmbeddingsReply, toEmbeddings } from '../../shared/text/to-embeddings.js';
import { withModel } from '../../shared/with-model.js';
import {
  type NativeEmbeddingReply,
  type NativeEmbeddingRequest,
  nativeEmbeddingReplySchema,
  nativeEmbeddingSchema,
} from '../schema.js';

export function nativeEmbeddingRoute(app: FastifyInstance, context: AppContext): void {
  const embed = withModel<NativeEmbeddingRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const { content, input = content, ...rest } = body;
    if (input === undefined) {
      throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `input`.', 'input');
    }
    const field = body.input === undefined ? 'content' : 'input';
    const { data, usage } = await toEmbeddings(engine, { ...rest, model: engine.model.id, input }, signal, field);
    record.readTexts(engine.model.id, usage.prompt_tokens);
    return reply.type('application/json; charset=utf-8').send(await arrayInSlices(toNative(data)));
  });
  app.post<{ Body: NativeEmbeddingRequest }>('/embedding', bodyRoute(context, nativeEmbeddingSchema, operation), embed);
}

function* toNative(data: LazyEmbeddingsReply['data']): Generator<NativeEmbeddingReply[number]> {
  for (const { index, embedding } of data) yield { index, embedding: [embedding] };
}

const operation: Operation = {
  id: 'embedTexts',
  tag: 'llama-server',
  summary: 'Embeddings of texts, with length 1 (llama-server).',
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
