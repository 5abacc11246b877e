/** Errors as plain data, and back. */
import { ChasquiError, ERRORS, type ErrorCode } from '../../errors.js';
import type { NativeFailure } from '../../native/addon.js';
import type { WireError } from './messages.js';

export function toWire(thrown: unknown): WireError {
  const { code, message, imageIndex } = thrown as Partial<NativeFailure>;
  const known = code !== undefined && code in ERRORS;
  return {
    code: known ? code : 'internal_error',
    message: message ?? String(thrown),
    param: thrown instanceof ChasquiError ? thrown.param : null,
    ...(imageIndex !== undefined && { imageIndex }),
    ...(thrown instanceof ChasquiError && { retryAfterSeconds: thrown.retryAfterSeconds }),
  };
}

export function fromWire({ code, message, param, imageIndex, retryAfterSeconds }: WireError): ChasquiError {
  const error = new ChasquiError(code as ErrorCode, message, param);
  error.imageIndex = imageIndex;
  error.retryAfterSeconds = retryAfterSeconds;
  return error;
}
