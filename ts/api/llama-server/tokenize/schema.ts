/** `POST /tokenize`, `POST /detokenize`, `POST /apply-template`: bodies and replies. */

import * as s from '../../../http/schema/json-schema.js';
import { model } from '../../shared/chat/chat-schema.js';

export const tokenizeSchema = s.objectOf(
  {},
  {
    model,
    content: s.field('The text; required unless `prompt` is set.', s.string),
    prompt: s.field("vLLM's name of `content`; then `add_special` is true by default.", s.string),
    add_special_tokens: s.field("vLLM's name of `add_special`.", s.boolean),
    add_special: s.field('Adds the special tokens at the beginning and end of a text.', s.boolean),
    parse_special: s.field('Converts the names of special tokens to these tokens; default: true.', s.boolean),
    with_pieces: s.field('Reports the text of each token.', s.boolean),
  },
);

export const detokenizeSchema = s.objectOf(
  { tokens: s.field('The tokens.', s.arrayOf(s.limited(s.integer, { minimum: 0 }))) },
  { model },
);

const piece = s.objectOf({
  id: s.integer,
  /** A text, or the bytes as numbers where they are not valid UTF-8 by themselves. */
  piece: s.anyOf(s.string, s.arrayOf(s.integer)),
});

/** With `count` and `max_model_len` in the reply to `prompt`. */
export const tokenizeReplySchema = s.objectOf(
  { tokens: s.anyOf(s.arrayOf(s.integer), s.arrayOf(piece)) },
  { count: s.integer, max_model_len: s.integer },
);
/** `prompt` is vLLM's name of `content`. */
export const detokenizeReplySchema = s.objectOf({ content: s.string, prompt: s.string });
export const applyTemplateReplySchema = s.objectOf({ prompt: s.string });

export type TokenizeRequest = s.Static<typeof tokenizeSchema>;
export type DetokenizeRequest = s.Static<typeof detokenizeSchema>;
export type TokenPiece = s.Static<typeof piece>;
export type TokenizeReply = s.Static<typeof tokenizeReplySchema>;
export type DetokenizeReply = s.Static<typeof detokenizeReplySchema>;
export type ApplyTemplateReply = s.Static<typeof applyTemplateReplySchema>;
