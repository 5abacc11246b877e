/** Vectors of texts. */
import type { FastifyInstance } from 'fastify';
import { type EmbeddingsRequest, embeddingsSchema } from '../../schemas/embeddings.js';
import { toEmbeddings } from '../../text/to-embeddings.js';
import type { AppContext } from '../context.js';
import { jsonInSlices } from '../json-in-slices.js';
import { checkModelName } from '../model-name.js';
import { readFields } from '../read-fields.js';

const URL = '/v1/embeddings';

export function embeddingsRoute(app: FastifyInstance, { engine, profile, options, running }: AppContext): void {
  const preValidation = readFields(profile, options.strict, Object.keys(embeddingsSchema.properties));
  const settings = { schema: { body: embeddingsSchema }, preValidation };
  app.post<{ Body: EmbeddingsRequest }>(URL, settings, async ({ body, record }, reply) => {
    checkModelName(body.model, engine.model, profile);
    const { data, ...rest } = await toEmbeddings(engine, body, running.signalFor(reply.raw));
    record.readTexts(engine.model.id, rest.usage.prompt_tokens);
    return reply.type('application/json; charset=utf-8').send(await jsonInSlices(rest, 'data', data));
  });
}
