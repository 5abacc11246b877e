/** Converts a ranking to the reply of Text Embeddings Inference. */

import type { RerankReply } from '../../shared/text/ranking-schema.js';
import type { TextRankReply, TextRankRequest } from '../schema.js';

export function toTextRanking(
  { results }: Pick<RerankReply, 'results'>,
  {
    texts = [],
    return_documents = false,
    return_text: withText = return_documents,
    raw_scores: raw = false,
  }: TextRankRequest,
): TextRankReply {
  return results.map(({ index, relevance_score: score }) => ({
    index,
    score: raw ? score : 1 / (1 + Math.exp(-score)),
    ...(withText && { text: texts[index] ?? '' }),
  }));
}
