/** `POST /v1/embeddings`: body and reply. */

import {
  anyOf,
  arrayOf,
  exactly,
  field,
  integer,
  number,
  objectOf,
  oneOf,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { model } from '../chat/chat-schema.js';
import { modelUseFields } from '../model-use-schema.js';
import { textInputs } from './text-schema.js';

export const MAX_EMBEDDING_INPUTS = 2048;

export const embeddingsSchema = objectOf(
  {
    model,
    input: field('One text or several, as characters or as tokens.', textInputs),
  },
  {
    encoding_format: field(
      'Numbers, or the bytes of 32-bit floats (little-endian) in base64.',
      oneOf('float', 'base64'),
    ),
    dimensions: field("How many numbers to keep, up to the length of the model's embeddings.", integer, { minimum: 1 }),
    ...modelUseFields,
  },
);

export type EmbeddingsRequest = Static<typeof embeddingsSchema>;

export const embeddingData = objectOf({
  object: exactly('embedding'),
  index: integer,
  /** Numbers, or in base64 the bytes of 32-bit floats, little-endian. */
  embedding: anyOf(arrayOf(number), string),
});

export const embeddingsReplySchema = objectOf({
  object: exactly('list'),
  model: string,
  data: arrayOf(embeddingData),
  usage: objectOf({ prompt_tokens: integer, total_tokens: integer }),
});

export type EmbeddingsReply = Static<typeof embeddingsReplySchema>;
