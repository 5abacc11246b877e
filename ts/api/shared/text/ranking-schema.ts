/** `POST /v1/rerank`: body and reply, in the form of Jina and llama-server. */

import * as s from '../../../http/schema/json-schema.js';
import { model } from '../chat/chat-schema.js';
import { modelUseFields } from '../model-use-schema.js';

export const MAX_DOCUMENTS = 2048;

export const rerankSchema = s.objectOf(
  {
    query: s.field('What is looked for.', s.string),
    documents: s.field(
      'The texts to rank.',
      s.limited(s.arrayOf(s.orString(s.objectOf({ text: s.string }))), { minItems: 1, maxItems: MAX_DOCUMENTS }),
    ),
  },
  {
    model,
    top_n: s.field('Number of results, the most relevant first; default: all.', s.integer, { minimum: 1 }),
    return_documents: s.field('Returns the texts as well.', s.boolean),
    ...modelUseFields,
  },
);

export type RerankRequest = s.Static<typeof rerankSchema>;

const result = s.objectOf(
  {
    /** Index of the document in the request. */
    index: s.integer,
    /** The output of the model's head: for most models a logit, so only the order of scores is meaningful. */
    relevance_score: s.number,
  },
  { document: s.objectOf({ text: s.string }) },
);

export const rerankReplySchema = s.objectOf({
  object: s.exactly('list'),
  model: s.string,
  /** The most relevant first. */
  results: s.arrayOf(result),
  usage: s.objectOf({ prompt_tokens: s.integer, total_tokens: s.integer }),
});

export type RerankReply = s.Static<typeof rerankReplySchema>;
