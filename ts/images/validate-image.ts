/** Reads the format and size of an image from the header of its file. */
import { isBmp, readBmpSize } from './formats/bmp.js';
import type { ImageSize, ImageType } from './formats/format.js';
import { isGif, readGifSize } from './formats/gif.js';
import { isJpeg, readJpegSize } from './formats/jpeg.js';
import { isPng, readPngSize } from './formats/png.js';
import { unsupportedFormat } from './formats/unsupported.js';
import { isWebp, readWebpSize } from './formats/webp.js';
import { fileTooLarge, ImageError } from './image-error.js';
import { MAX_FILE_BYTES, MAX_PIXELS, MAX_SIDE } from './limits.js';

interface Format {
  type: ImageType;
  matches(file: Buffer): boolean;
  /** Throws a RangeError if the file is truncated. */
  readSize(file: Buffer): ImageSize;
}

const FORMATS: readonly Format[] = [
  { type: 'image/png', matches: isPng, readSize: readPngSize },
  { type: 'image/jpeg', matches: isJpeg, readSize: readJpegSize },
  { type: 'image/gif', matches: isGif, readSize: readGifSize },
  { type: 'image/bmp', matches: isBmp, readSize: readBmpSize },
  { type: 'image/webp', matches: isWebp, readSize: readWebpSize },
];

export interface ValidImage extends ImageSize {
  type: ImageType;
}

/** @throws {ImageError} `invalid_image`, `image_too_large` */
export function validateImage(bytes: Uint8Array): ValidImage {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length > MAX_FILE_BYTES) throw fileTooLarge();
  const format = FORMATS.find(({ matches }) => matches(file));
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
  return FORMATS.find(({ matches }) => matches(beginning))?.type ?? null;
}

function readSize({ type, readSize }: Format, file: Buffer): ImageSize {
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
