/** Fields that hold text or tokens, one or many: `prompt` of completions, `input` of embeddings. */
import { typed } from '../../../http/schema/json-schema.js';

export type TextInputs = string | string[] | number[] | number[][];

const token = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };

/** `toInputs` checks that all items are of one kind, because it can name the item that is not. */
export const textInputs = typed<TextInputs>({
  type: ['string', 'array'],
  minItems: 1,
  items: { ...token, type: ['string', 'integer', 'array'], minItems: 1, items: token },
});
