/** A ranking → the reply that Text Embeddings Inference gives. */

import type { TextRankReply } from '../schemas/llamaserver-reply.js';
import type { TextRankRequest } from '../schemas/llamaserver-request.js';
import type { RerankReply } from '../schemas/rerank.js';

export function toTextRanking(
  { results }: Pick<RerankReply, 'results'>,
  { texts = [], return_text: withText = false, raw_scores: raw = false }: TextRankRequest,
): TextRankReply {
  return results.map(({ index, relevance_score: score }) => ({
    index,
    score: raw ? score : 1 / (1 + Math.exp(-score)),
    ...(withText && { text: texts[index] ?? '' }),
  }));
}
