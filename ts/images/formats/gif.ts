/** GIF: the canvas size follows the signature. */
import type { ImageSize } from './format.js';

export function isGif(file: Buffer): boolean {
  return /^GIF8[79]a$/.test(file.toString('latin1', 0, 6));
}

export function readGifSize(file: Buffer): ImageSize {
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
}
