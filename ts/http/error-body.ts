/** The body of every failure, in every route: OpenAI's envelope. */
import type { ErrorCode, ErrorType } from '../errors.js';
import { integer, objectOf, oneOf, orNull, type Static, string } from './schema/json-schema.js';

/** Of a prompt that does not fit, in llama-server's words. */
export const lengthFields = {
  /** At least as many: what cannot fit in any case is not counted to its end. */
  n_prompt_tokens: integer,
  n_ctx: integer,
};

/** The schema of failures that have one of these types and codes. */
export function errorBodySchema(types: readonly ErrorType[], codes: readonly ErrorCode[]) {
  const error = { message: string, type: oneOf(...types), param: orNull(string), code: oneOf(...codes) };
  const optional = codes.includes('context_length_exceeded') ? lengthFields : {};
  return objectOf({ error: objectOf(error, optional as typeof lengthFields) });
}

export type ErrorBody = Static<ReturnType<typeof errorBodySchema>>;
