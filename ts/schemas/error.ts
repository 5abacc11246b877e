/** The body of every failure, in every route: OpenAI's envelope. */
import type { ErrorCode, ErrorType } from '../errors.js';
import { objectOf, oneOf, orNull, type Static, string } from './json-schema.js';

/** The schema of failures that have one of these types and codes. */
export function errorBodySchema(types: readonly ErrorType[], codes: readonly ErrorCode[]) {
  const error = { message: string, type: oneOf(...types), param: orNull(string), code: oneOf(...codes) };
  return objectOf({ error: objectOf(error) });
}

export type ErrorBody = Static<ReturnType<typeof errorBodySchema>>;
