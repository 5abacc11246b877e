/** Errors as plain data, and back. */
import { ChasquiError, ERRORS, type ErrorCode } from '../../errors.js';
import type { NativeFailure } from '../../native/addon.js';
import type { WireError } from './messages.js';

export function toWire(thrown: unknown): WireError {
  const { code, message, imageIndex, promptTokens, contextLength } = thrown as Partial<NativeFailure>;
  const known = code !== undefined && code in ERRORS;
  return {
    code: known ? code : 'internal_error',
    message: message ?? String(thrown),
    param: thrown instanceof ChasquiError ? thrown.param : null,
    ...(imageIndex !== undefined && { imageIndex }),
    ...(promptTokens !== undefined && { promptTokens }),
    ...(contextLength !== undefined && { contextLength }),
    ...(thrown instanceof ChasquiError && { retryAfterSeconds: thrown.retryAfterSeconds }),
  };
}

export function fromWire({ code, message, param, ...rest }: WireError): ChasquiError {
  const { imageIndex, promptTokens, contextLength, retryAfterSeconds } = rest;
  const error = new ChasquiError(code as ErrorCode, message, param);
  return Object.assign(error, { imageIndex, promptTokens, contextLength, retryAfterSeconds });
}
