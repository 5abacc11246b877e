/** BMP: the second header has the size, in 16 bits each where it is OS/2's. */
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
  // A negative height means that the rows come from the top.
  return { width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) };
}
