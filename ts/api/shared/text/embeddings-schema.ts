/** `POST /v1/embeddings`: body and reply. */

import * as s from '../../../http/schema/json-schema.js';
import { model } from '../chat/chat-schema.js';
import { modelUseFields } from '../model-use-schema.js';
import { textInputs } from './text-schema.js';

export const MAX_EMBEDDING_INPUTS = 2048;

export const embeddingsSchema = s.objectOf(
  {
    model,
    input: s.field('One text or several, as characters, as tokens or as a list of both.', textInputs),
  },
  {
    encoding_format: s.field(
      'Numbers, or the bytes of 32-bit floats (little-endian) in base64.',
      s.oneOf('float', 'base64'),
    ),
    dimensions: s.field("Length of the vectors, up to that of the model's embeddings.", s.integer, {
      minimum: 1,
    }),
    ...modelUseFields,
  },
);

export type EmbeddingsRequest = s.Static<typeof embeddingsSchema>;

export const embeddingData = s.objectOf({
  object: s.exactly('embedding'),
  index: s.integer,
  /** Numbers, or in base64 the bytes of 32-bit floats, little-endian. */
  embedding: s.anyOf(s.arrayOf(s.number), s.string),
});

export const embeddingsReplySchema = s.objectOf({
  object: s.exactly('list'),
  model: s.string,
  data: s.arrayOf(embeddingData),
  usage: s.objectOf({ prompt_tokens: s.integer, total_tokens: s.integer }),
});

export type EmbeddingsReply = s.Static<typeof embeddingsReplySchema>;
