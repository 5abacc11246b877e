/** Documents in the order of how relevant they are to a query. */
import type { FastifyInstance } from 'fastify';
import { type RerankRequest, rerankSchema } from '../../schemas/rerank.js';
import { toRanking } from '../../text/to-ranking.js';
import type { AppContext } from '../context.js';
import { readFields } from '../read-fields.js';
import { withModel } from '../with-model.js';

const URL = '/v1/rerank';

export function rerankRoute(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const preValidation = readFields(profile, options.strict, Object.keys(rerankSchema.properties));
  const rank = withModel<RerankRequest>(context, async ({ body, record }, _reply, { engine, signal }) => {
    const ranking = await toRanking(engine, body, signal);
    record.readTexts(engine.model.id, ranking.usage.prompt_tokens);
    return ranking;
  });
  app.post<{ Body: RerankRequest }>(URL, { schema: { body: rerankSchema }, preValidation }, rank);
}
