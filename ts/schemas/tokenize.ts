/** `POST /tokenize` and `POST /detokenize`: bodies and replies, as llama-server has them. */
import { anyOf, arrayOf, integer, objectOf, string } from './json-schema.js';

export interface TokenizeRequest {
  model?: string;
  content: string;
  /** Adds the tokens that begin (or end) every text of the model; default false. */
  add_special?: boolean;
  /** Reads the names of special tokens as those tokens; default true. */
  parse_special?: boolean;
  /** Says with each token what it spells; default false. */
  with_pieces?: boolean;
}

export interface TokenPiece {
  id: number;
  /** A text, or the bytes as numbers where they are not valid UTF-8 by themselves. */
  piece: string | number[];
}

export interface TokenizeReply {
  tokens: number[] | TokenPiece[];
}

export interface DetokenizeRequest {
  model?: string;
  tokens: number[];
}

export interface DetokenizeReply {
  content: string;
}

export interface ApplyTemplateReply {
  prompt: string;
}

const tokenizeProperties: Record<keyof TokenizeRequest, object> = {
  model: { type: 'string' },
  content: { type: 'string' },
  add_special: { type: 'boolean' },
  parse_special: { type: 'boolean' },
  with_pieces: { type: 'boolean' },
};

const detokenizeProperties: Record<keyof DetokenizeRequest, object> = {
  model: { type: 'string' },
  tokens: { type: 'array', items: { type: 'integer', minimum: 0 } },
};

export const tokenizeSchema = { type: 'object', required: ['content'], properties: tokenizeProperties };
export const detokenizeSchema = { type: 'object', required: ['tokens'], properties: detokenizeProperties };

const piece = objectOf({ id: integer, piece: anyOf(string, arrayOf(integer)) });

export const tokenizeReplySchema = objectOf({ tokens: arrayOf(anyOf(integer, piece)) });
export const detokenizeReplySchema = objectOf({ content: string });
export const applyTemplateReplySchema = objectOf({ prompt: string });
