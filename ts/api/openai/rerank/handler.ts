/** Sorts documents by their relevance to a query. */
import type { FastifyInstance } from 'fastify';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { type RerankRequest, rerankReplySchema, rerankSchema } from '../../shared/text/ranking-schema.js';
import { rankerNaming, toRanking } from '../../shared/text/to-ranking.js';
import { withModel } from '../../shared/with-model.js';

export function rerankRoute(app: FastifyInstance, context: AppContext): void {
  const handle: Parameters<typeof withModel<RerankRequest>>[1] = async ({ body, record }, _reply, leased) => {
    const { engine, signal } = leased;
    const ranking = await toRanking(engine, body, signal);
    record.readTexts(engine.model.id, ranking.usage.prompt_tokens);
    return ranking;
  };
  const rank = withModel<RerankRequest>(context, handle, null, rankerNaming(context));
  for (const [url, named] of Object.entries(PATHS)) {
    app.post<{ Body: RerankRequest }>(url, bodyRoute(context, rerankSchema, { ...operation, ...named }), rank);
  }
}

const operation: Operation = {
  id: 'rerank',
  tag: 'Text',
  summary: 'Documents ranked by relevance to a query; needs a reranking model.',
  description: "The scores are the model's own, not scaled to 0 to 1.",
  errors: MODEL_ERRORS,
  reply: { json: { name: 'Ranking', schema: rerankReplySchema } },
  examples: (model) => ({
    two: {
      summary: 'Two documents',
      request: { model, query: 'Where do llamas live?', documents: ['Bread is baked.', 'Llamas live in the Andes.'] },
      reply: {
        object: 'list',
        model,
        results: [
          { index: 1, relevance_score: 4.7 },
          { index: 0, relevance_score: -8.2 },
        ],
        usage: { prompt_tokens: 27, total_tokens: 27 },
      },
    },
  }),
};

const PATHS: Readonly<Record<string, Pick<Operation, 'id' | 'summary' | 'requestName'>>> = {
  '/v1/rerank': { id: operation.id, summary: operation.summary },
  '/v2/rerank': { id: 'rerankV2', summary: 'Same as `/v1/rerank` (Cohere).', requestName: 'RerankRequest' },
  '/v1/reranking': { id: 'reranking', summary: 'Same as `/v1/rerank` (llama-server).', requestName: 'RerankRequest' },
};
