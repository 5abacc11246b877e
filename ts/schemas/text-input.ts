/** What may be text or tokens, one or many: `prompt` of completions, `input` of embeddings. */

export type TextInputs = string | string[] | number[] | number[][];

const token = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };

/** That all items are of the same kind is checked by `toInputs`, which can name the one that is not. */
export const textInputsSchema = {
  type: ['string', 'array'],
  minItems: 1,
  items: { ...token, type: ['string', 'integer', 'array'], minItems: 1, items: token },
};
