/** Converts a valid body of a rerank request to its reply. */
import type { Engine } from '../../../engine/engine.js';
import type { ModelPool } from '../../../models/pool.js';
import type { RerankReply, RerankRequest } from './ranking-schema.js';

export async function toRanking(engine: Engine, body: RerankRequest, signal: AbortSignal): Promise<RerankReply> {
  const texts = body.documents.map((document) => (typeof document === 'string' ? document : document.text));
  const { scores, promptTokens } = await engine.rank(body.query, texts, { signal });
  const results = scores.map((score, index) => ({
    index,
    relevance_score: score,
    ...(body.return_documents && { document: { text: texts[index] as string } }),
  }));
  results.sort((one, other) => other.relevance_score - one.relevance_score);
  return {
    object: 'list',
    model: engine.model.id,
    results: results.slice(0, body.top_n),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

/** Without a name, the only loaded reranking model is used. */
export function rankerNaming({ pool }: { pool: Pick<ModelPool, 'list'> }) {
  return ({ model }: { model?: string }): string | undefined => {
    if (model !== undefined) return model;
    const [ranker, ...others] = pool.list().filter(({ engine }) => engine?.model.pooling === 'rank');
    return others.length === 0 ? ranker?.id : undefined;
  };
}
