/** PNG: the size is in the first chunk, IHDR. */
import { ImageError } from '../image-error.js';
import type { ImageSize } from './format.js';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

export function isPng(file: Buffer): boolean {
  return file.subarray(0, 8).equals(SIGNATURE);
}

export function readPngSize(file: Buffer): ImageSize {
  if (file.toString('latin1', 12, 16) !== 'IHDR') throw new ImageError('invalid_image', 'is a PNG without a header.');
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}
