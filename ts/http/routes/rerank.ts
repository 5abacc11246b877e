/** Documents in the order of how relevant they are to a query. */
import type { FastifyInstance } from 'fastify';
import { type RerankRequest, rerankSchema } from '../../schemas/rerank.js';
import { toRanking } from '../../text/to-ranking.js';
import type { AppContext } from '../context.js';
import { checkModelName } from '../model-name.js';
import { readFields } from '../read-fields.js';

const URL = '/v1/rerank';

export function rerankRoute(app: FastifyInstance, { engine, profile, options, running }: AppContext): void {
  const preValidation = readFields(profile, options.strict, Object.keys(rerankSchema.properties));
  app.post<{ Body: RerankRequest }>(URL, { schema: { body: rerankSchema }, preValidation }, async (request, reply) => {
    const { body, record } = request;
    checkModelName(body.model, engine.model, profile);
    const ranking = await toRanking(engine, body, running.signalFor(reply.raw));
    record.readTexts(engine.model.id, ranking.usage.prompt_tokens);
    return ranking;
  });
}
