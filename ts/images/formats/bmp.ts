/** BMP: the size is in the second header; in 16 bits each in that of OS/2. */
import { ImageError } from '../image-error.js';
import type { ImageSize } from './format.js';

const OS2_HEADER = 12;

export function isBmp(file: Buffer): boolean {
  return file.toString('latin1', 0, 2) === 'BM';
}

export function readBmpSize(file: Buffer): ImageSize {
  const header = file.readUInt32LE(14);
  if (header === OS2_HEADER) return { width: file.readUInt16LE(18), height: file.readUInt16LE(20) };
  if (header < 40) throw new ImageError('invalid_image', 'is a BMP of a kind that cannot be read.');
  // A negative height means that the rows are stored top-down.
  return { width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) };
}
