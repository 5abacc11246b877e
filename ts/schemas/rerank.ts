/** `POST /v1/rerank`: body and reply, as Jina and llama-server have them. */
import { arrayOf, exactly, integer, number, objectOf, string } from './json-schema.js';
import { type ModelUse, modelUseSchemas } from './model-use.js';

export interface RerankRequest extends ModelUse {
  model?: string;
  query: string;
  documents: (string | { text: string })[];
  /** How many results to return, the most relevant first; default: all. */
  top_n?: number;
  return_documents?: boolean;
}

export interface RerankReply {
  object: 'list';
  model: string;
  /** The most relevant first. */
  results: {
    /** Its place in the request. */
    index: number;
    /** The output of the model's head; for most models a logit, so that only the order of scores has a meaning. */
    relevance_score: number;
    document?: { text: string };
  }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

export const MAX_DOCUMENTS = 2048;

const properties: Record<keyof RerankRequest, object> = {
  model: { type: 'string' },
  query: { type: 'string' },
  documents: {
    type: 'array',
    minItems: 1,
    maxItems: MAX_DOCUMENTS,
    items: { type: ['string', 'object'], required: ['text'], properties: { text: { type: 'string' } } },
  },
  top_n: { type: 'integer', minimum: 1 },
  return_documents: { type: 'boolean' },
  ...modelUseSchemas,
};

export const rerankSchema = { type: 'object', required: ['query', 'documents'], properties };

const result = objectOf({ index: integer, relevance_score: number }, { document: objectOf({ text: string }) });

export const rerankReplySchema = objectOf({
  object: exactly('list'),
  model: string,
  results: arrayOf(result),
  usage: objectOf({ prompt_tokens: integer, total_tokens: integer }),
});
