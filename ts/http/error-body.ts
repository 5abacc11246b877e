/** The body of every failure, in every route: OpenAI's envelope. */
import type { ErrorCode, ErrorType } from '../errors.js';
import { integer, objectOf, oneOf, orNull, type Static, string } from './schema/json-schema.js';

/** Additional fields of `context_length_exceeded`, named as in llama-server. */
export const lengthFields = {
  /** A lower bound: counting stops once the prompt cannot fit. */
  n_prompt_tokens: integer,
  n_ctx: integer,
};

export function errorBodySchema(types: readonly ErrorType[], codes: readonly ErrorCode[]) {
  const error = { message: string, type: oneOf(...types), param: orNull(string), code: oneOf(...codes) };
  const optional = codes.includes('context_length_exceeded') ? lengthFields : {};
  return objectOf({ error: objectOf(error, optional as typeof lengthFields) });
}

export type ErrorBody = Static<ReturnType<typeof errorBodySchema>>;
