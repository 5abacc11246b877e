/** WebP: RIFF. The first chunk is a lossy image, a lossless image, or the extended header. */
import { ImageError } from '../image-error.js';
import type { ImageSize } from './format.js';

const ANIMATION = 0x02;

export function isWebp(file: Buffer): boolean {
  return file.toString('latin1', 0, 4) === 'RIFF' && file.toString('latin1', 8, 12) === 'WEBP';
}

export function readWebpSize(file: Buffer): ImageSize {
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return readLossySize(file);
    case 'VP8L':
      return readLosslessSize(file);
    case 'VP8X':
      return readExtendedSize(file);
    default:
      throw new ImageError('invalid_image', 'is a WebP file without an image.');
  }
}

/** Frame tag, start code, then 14 bits each; the two upper bits are for scaling. */
function readLossySize(file: Buffer): ImageSize {
  if (file.readUIntBE(23, 3) !== 0x9d012a) throw new ImageError('invalid_image', 'is a damaged WebP image.');
  return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
}

function readLosslessSize(file: Buffer): ImageSize {
  if (file.readUInt8(20) !== 0x2f) throw new ImageError('invalid_image', 'is a damaged WebP image.');
  const bits = file.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

function readExtendedSize(file: Buffer): ImageSize {
  if (file.readUInt8(20) & ANIMATION) {
    throw new ImageError('invalid_image', 'is an animated WebP, of which only still ones can be read: send one frame.');
  }
  return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 };
}
