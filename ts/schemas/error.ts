/** The body of every failure, in every route: OpenAI's envelope. */
import type { ErrorCode, ErrorType } from '../errors.js';
import { type JsonSchema, objectOf, oneOf, orNull, string } from './json-schema.js';

export interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: ErrorCode };
}

/** The schema of failures that have one of these types and codes. */
export function errorBodySchema(types: readonly string[], codes: readonly string[]): JsonSchema {
  const error = { message: string, type: oneOf(...types), param: orNull(string), code: oneOf(...codes) };
  return objectOf({ error: objectOf(error) });
}
