import type { ErrorCode, ErrorType } from '../../errors.js';
import { lengthFields } from '../../http/error-body.js';
import { exactly, objectOf, oneOf, orNull, string } from '../../http/schema/json-schema.js';

export function anthropicErrorSchema(_types: readonly ErrorType[], codes: readonly ErrorCode[]) {
  const error = { message: string, type: string, param: orNull(string), code: oneOf(...codes) };
  const details = objectOf({ error_code: string });
  return objectOf({
    type: exactly('error'),
    request_id: orNull(string),
    error: objectOf(error, { ...lengthFields, details }),
  });
}
