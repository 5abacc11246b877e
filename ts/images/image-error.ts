import type { ErrorCode } from '../errors.js';

export type ImageErrorCode = Extract<
  ErrorCode,
  'invalid_image_url' | 'invalid_image' | 'image_too_large' | 'image_download_failed'
>;

/** An error in one image. `loadImages` adds the request field of the image. */
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
