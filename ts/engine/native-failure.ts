/** Errors of native code carry a code of the catalogue; here they become its class. */
import { ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import type { NativeFailure } from '../native/addon.js';

export async function catalogued<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw withCatalogueCode(error);
  }
}

export function withCatalogueCode(error: unknown): unknown {
  const { code, imageIndex, promptTokens, contextLength } = error as Partial<NativeFailure>;
  if (error instanceof ChasquiError || code === undefined || !(code in ERRORS)) return error;
  const catalogued = new ChasquiError(code as ErrorCode, (error as Error).message, null, { cause: error });
  Object.assign(catalogued, { imageIndex, promptTokens, contextLength });
  return catalogued;
}
