import { exactly, integer, objectOf, orNull, type Static, string } from '../../../http/schema/json-schema.js';

export const tokenizerInfoSchema = objectOf({
  tokenizer_class: exactly('GGUF'),
  /** By name; null if the model has none. */
  bos_token: orNull(string),
  eos_token: orNull(string),
  pad_token: orNull(string),
  chat_template: orNull(string),
  vocab_size: integer,
  model_max_length: integer,
});

export type TokenizerInfo = Static<typeof tokenizerInfoSchema>;
