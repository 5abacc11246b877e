/** `POST /tokenize`, `POST /detokenize`, `POST /apply-template`: bodies and replies, as llama-server has them. */

import {
  anyOf,
  arrayOf,
  boolean,
  field,
  integer,
  limited,
  objectOf,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { model } from '../../shared/chat/chat-schema.js';

export const tokenizeSchema = objectOf(
  {},
  {
    model,
    content: field('The text; required unless `prompt` has it.', string),
    prompt: field("vLLM's name of `content`; then `add_special` is true by default.", string),
    add_special_tokens: field("vLLM's name of `add_special`.", boolean),
    add_special: field('Adds the tokens that begin (or end) every text of the model.', boolean),
    parse_special: field('Reads the names of special tokens as those tokens; the default is true.', boolean),
    with_pieces: field('Says with each token what it spells.', boolean),
  },
);

export const detokenizeSchema = objectOf(
  { tokens: field('The tokens.', arrayOf(limited(integer, { minimum: 0 }))) },
  { model },
);

const piece = objectOf({
  id: integer,
  /** A text, or the bytes as numbers where they are not valid UTF-8 by themselves. */
  piece: anyOf(string, arrayOf(integer)),
});

/** With `count` and `max_model_len` in the reply to `prompt`. */
export const tokenizeReplySchema = objectOf(
  { tokens: anyOf(arrayOf(integer), arrayOf(piece)) },
  { count: integer, max_model_len: integer },
);
/** `prompt` is vLLM's name of `content`. */
export const detokenizeReplySchema = objectOf({ content: string, prompt: string });
export const applyTemplateReplySchema = objectOf({ prompt: string });

export type TokenizeRequest = Static<typeof tokenizeSchema>;
export type DetokenizeRequest = Static<typeof detokenizeSchema>;
export type TokenPiece = Static<typeof piece>;
export type TokenizeReply = Static<typeof tokenizeReplySchema>;
export type DetokenizeReply = Static<typeof detokenizeReplySchema>;
export type ApplyTemplateReply = Static<typeof applyTemplateReplySchema>;
