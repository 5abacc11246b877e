/** Vectors of texts. */
import type { FastifyInstance } from 'fastify';
import { type EmbeddingsRequest, embeddingsSchema } from '../../schemas/embeddings.js';
import { toEmbeddings } from '../../text/to-embeddings.js';
import type { AppContext } from '../context.js';
import { jsonInSlices } from '../json-in-slices.js';
import { readFields } from '../read-fields.js';
import { withModel } from '../with-model.js';

const URL = '/v1/embeddings';

export function embeddingsRoute(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const preValidation = readFields(profile, options.strict, Object.keys(embeddingsSchema.properties));
  const settings = { schema: { body: embeddingsSchema }, preValidation };
  const embed = withModel<EmbeddingsRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const { data, ...rest } = await toEmbeddings(engine, body, signal);
    record.readTexts(engine.model.id, rest.usage.prompt_tokens);
    return reply.type('application/json; charset=utf-8').send(await jsonInSlices(rest, 'data', data));
  });
  app.post<{ Body: EmbeddingsRequest }>(URL, settings, embed);
}
