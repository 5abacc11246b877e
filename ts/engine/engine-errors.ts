/** Errors that engines share, and those of native code as errors of the catalogue. */
import { ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import type { NativeFailure } from '../native/addon.js';
import type { ModelInfo } from './engine-types.js';

export function engineClosed(): ChasquiError {
  return new ChasquiError('engine_closed', 'The engine was closed.');
}

/** Replaces `engine_closed`, a 503 that clients retry, with the error that closed the engine. */
export function withReason(error: unknown, closedBy: ChasquiError | null): unknown {
  const isClosed = error instanceof ChasquiError && error.code === 'engine_closed';
  return isClosed && closedBy !== null ? closedBy : error;
}

/** @throws {ChasquiError} `image_not_supported`, `audio_not_supported` */
export function refuseMedia({ id, inputModalities }: ModelInfo, kinds: readonly ('image' | 'audio')[]): void {
  const kind = kinds.find((each) => !inputModalities.includes(each));
  if (kind === undefined) return;
  throw new ChasquiError(
    `${kind}_not_supported`,
    `The model \`${id}\` takes ${inputModalities.join(' and ')} only; it was loaded without a projector (\`mmproj\`) for ${kind}.`,
  );
}

export async function catalogued<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw withCatalogueCode(error);
  }
}

/** Maps a native error, which carries a code of the catalogue, to a `ChasquiError`. */
export function withCatalogueCode(error: unknown): unknown {
  const { code, imageIndex, promptTokens, contextLength } = error as Partial<NativeFailure>;
  if (error instanceof ChasquiError || code === undefined || !(code in ERRORS)) return error;
  const catalogued = new ChasquiError(code as ErrorCode, (error as Error).message, null, { cause: error });
  Object.assign(catalogued, { imageIndex, promptTokens, contextLength });
  return catalogued;
}
