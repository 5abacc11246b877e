import type { ErrorCode } from '../errors.js';
import { MAX_FILE_BYTES, MIB } from './limits.js';

export type ImageErrorCode = Extract<
  ErrorCode,
  'invalid_image_url' | 'invalid_image' | 'image_too_large' | 'image_download_failed'
>;

/** An error in one image or audio file. `loadImages` adds the request field, and the code of audio. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  /** As in `ChasquiError`. */
  option: string | undefined;

  constructor(
    readonly code: ImageErrorCode,
    /** Completes a sentence that begins with "The image at ... ". */
    readonly predicate: string,
  ) {
    super(`The image ${predicate}`);
  }
}

export function fileTooLarge(): ImageError {
  return new ImageError('image_too_large', `is larger than ${MAX_FILE_BYTES / MIB} MiB: send a smaller one.`);
}
