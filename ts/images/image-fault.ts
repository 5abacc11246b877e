import type { ErrorCode } from '../errors.js';

export type ImageErrorCode = Extract<
  ErrorCode,
  'invalid_image_url' | 'invalid_image' | 'image_too_large' | 'image_download_failed'
>;

/** What is wrong with one picture, told by who does not know where in a request it stands. */
export class ImageFault extends Error {
  override readonly name = 'ImageFault';
  /** As in `ChasquiError`. */
  option: string | undefined;

  constructor(
    readonly code: ImageErrorCode,
    /** Goes on from "The image at ... ". */
    readonly predicate: string,
  ) {
    super(`The image ${predicate}`);
  }
}
