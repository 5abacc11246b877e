/** Reads the format and size of an image from the header of its file. */
import { formatOf, type ImageFormat, type ImageSize, type ImageType } from './formats.js';
import { fileTooLarge, ImageError } from './image-error.js';
import { MAX_FILE_BYTES, MAX_PIXELS, MAX_SIDE } from './limits.js';
import { unsupportedFormat } from './unsupported-formats.js';

export interface ValidImage extends ImageSize {
  type: ImageType;
}

/** @throws {ImageError} `invalid_image`, `image_too_large` */
export function validateImage(bytes: Uint8Array): ValidImage {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length > MAX_FILE_BYTES) throw fileTooLarge();
  const format = formatOf(file);
  if (format === undefined) {
    const name = unsupportedFormat(file);
    const found = name === undefined ? '' : `, but ${name}`;
    throw new ImageError('invalid_image', `is no PNG, JPEG, WebP, GIF or BMP file${found}: send one of these.`);
  }
  const size = readSize(format, file);
  checkSize(size);
  return { type: format.type, ...size };
}

/** Detects the format by the first bytes; `null`: no image. */
export function imageTypeOf(beginning: Buffer): ImageType | null {
  return formatOf(beginning)?.type ?? null;
}

function readSize({ type, readSize }: ImageFormat, file: Buffer): ImageSize {
  try {
    return readSize(file);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ImageError('invalid_image', `is cut off: this ${type} file ends within its header.`);
  }
}

function checkSize({ width, height }: ImageSize): void {
  if (width < 1 || height < 1) throw new ImageError('invalid_image', 'has no pixels, by its header.');
  if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) {
    throw new ImageError(
      'image_too_large',
      `has ${width} x ${height} pixels, but at most ${MAX_PIXELS / 1e6} million are taken, and ${MAX_SIDE} on a side.`,
    );
  }
}
