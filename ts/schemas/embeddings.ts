/** `POST /v1/embeddings`: body and reply. */
import { anyOf, arrayOf, exactly, integer, number, objectOf, string } from './json-schema.js';
import { type ModelUse, modelUseSchemas } from './model-use.js';
import { type TextInputs, textInputsSchema } from './text-input.js';

export const ENCODING_FORMATS = ['float', 'base64'] as const;
export const MAX_EMBEDDING_INPUTS = 2048;

export interface EmbeddingsRequest extends ModelUse {
  model: string;
  input: TextInputs;
  encoding_format?: (typeof ENCODING_FORMATS)[number];
  /** How long the vectors shall be. */
  dimensions?: number;
}

export interface EmbeddingsReply {
  object: 'list';
  model: string;
  data: {
    object: 'embedding';
    index: number;
    /** Numbers, or in base64 the bytes of 32-bit floats, little-endian. */
    embedding: number[] | string;
  }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

const properties: Record<keyof EmbeddingsRequest, object> = {
  model: { type: 'string' },
  input: textInputsSchema,
  encoding_format: { enum: ENCODING_FORMATS },
  dimensions: { type: 'integer', minimum: 1 },
  ...modelUseSchemas,
};

export const embeddingsSchema = { type: 'object', required: ['model', 'input'], properties };

const embedding = objectOf({
  object: exactly('embedding'),
  index: integer,
  embedding: anyOf(arrayOf(number), string),
});

export const embeddingsReplySchema = objectOf({
  object: exactly('list'),
  model: string,
  data: arrayOf(embedding),
  usage: objectOf({ prompt_tokens: integer, total_tokens: integer }),
});
