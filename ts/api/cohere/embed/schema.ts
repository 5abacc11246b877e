/** `POST /v2/embed`: body and reply. */
import * as s from '../../../http/schema/json-schema.js';
import { model } from '../../shared/chat/chat-schema.js';
import { modelUseFields } from '../../shared/model-use-schema.js';
import { MAX_EMBEDDING_INPUTS } from '../../shared/text/embeddings-schema.js';

const type = s.oneOf('float', 'base64', 'binary', 'ubinary');
export type EmbeddingType = s.Static<typeof type>;

export const cohereEmbedSchema = s.objectOf(
  {
    model,
    texts: s.field('The texts.', s.limited(s.arrayOf(s.string), { minItems: 1, maxItems: MAX_EMBEDDING_INPUTS })),
  },
  {
    input_type: s.field('Has no effect: model files declare no prefixes. Add them to the texts.', s.string),
    embedding_types: s.field(
      'Numbers, 32-bit floats in base64, or the signs of the numbers, eight in a byte. Default: `float`.',
      s.limited(s.arrayOf(type), { minItems: 1, maxItems: 4 }),
    ),
    output_dimension: s.field('The same as `dimensions` of `/v1/embeddings`.', s.integer, { minimum: 1 }),
    truncate: s.field(
      'Whether to cut the end of long texts, or to refuse them. Default: `END`.',
      s.oneOf('NONE', 'END'),
    ),
    ...modelUseFields,
  },
);

export type CohereEmbedRequest = s.Static<typeof cohereEmbedSchema>;

const bytes = s.arrayOf(s.arrayOf(s.integer));

export const cohereEmbeddingsSchema = s.objectOf({
  id: s.string,
  response_type: s.exactly('embeddings_by_type'),
  texts: s.arrayOf(s.string),
  meta: s.objectOf({
    api_version: s.objectOf({ version: s.exactly('2') }),
    billed_units: s.objectOf({ input_tokens: s.integer }),
  }),
  embeddings: s.objectOf(
    {},
    {
      float: s.arrayOf(s.arrayOf(s.number)),
      base64: s.arrayOf(s.string),
      /** Bytes from -128 to 127. */
      binary: bytes,
      /** Bytes from 0 to 255. */
      ubinary: bytes,
    },
  ),
});

export type CohereEmbeddings = s.Static<typeof cohereEmbeddingsSchema>;
