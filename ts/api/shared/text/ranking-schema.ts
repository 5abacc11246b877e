/** `POST /v1/rerank`: body and reply, as Jina and llama-server have them. */

import {
  arrayOf,
  boolean,
  exactly,
  field,
  integer,
  limited,
  number,
  objectOf,
  orString,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { model } from '../chat/chat-schema.js';
import { modelUseFields } from '../model-use-schema.js';

export const MAX_DOCUMENTS = 2048;

export const rerankSchema = objectOf(
  {
    query: field('What is looked for.', string),
    documents: field(
      'The texts to rank.',
      limited(arrayOf(orString(objectOf({ text: string }))), { minItems: 1, maxItems: MAX_DOCUMENTS }),
    ),
  },
  {
    model,
    top_n: field('How many results to return, the most relevant first; without it, all.', integer, { minimum: 1 }),
    return_documents: field('Returns the texts as well.', boolean),
    ...modelUseFields,
  },
);

export type RerankRequest = Static<typeof rerankSchema>;

const result = objectOf(
  {
    /** Its place in the request. */
    index: integer,
    /** The output of the model's head; for most models a logit, so that only the order of scores has a meaning. */
    relevance_score: number,
  },
  { document: objectOf({ text: string }) },
);

export const rerankReplySchema = objectOf({
  object: exactly('list'),
  model: string,
  /** The most relevant first. */
  results: arrayOf(result),
  usage: objectOf({ prompt_tokens: integer, total_tokens: integer }),
});

export type RerankReply = Static<typeof rerankReplySchema>;
