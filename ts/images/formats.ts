/** The image formats that can be read: how to recognise a file, and where its header has the size. */
import { ImageError } from './image-error.js';

export interface ImageSize {
  width: number;
  height: number;
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/bmp' | 'image/webp';

export interface ImageFormat {
  type: ImageType;
  /** Matches the first bytes of a file, as Latin-1. */
  beginning: RegExp;
  /** Throws a RangeError if the file is truncated. */
  readSize(file: Buffer): ImageSize;
}

const FORMATS: readonly ImageFormat[] = [
  { type: 'image/png', beginning: /^\x89PNG\r\n\cZ\n/, readSize: readPngSize },
  { type: 'image/jpeg', beginning: /^\xff\xd8\xff/, readSize: readJpegSize },
  { type: 'image/gif', beginning: /^GIF8[79]a/, readSize: readGifSize },
  { type: 'image/bmp', beginning: /^BM/, readSize: readBmpSize },
  { type: 'image/webp', beginning: /^RIFF.{4}WEBP/s, readSize: readWebpSize },
];

/** Undefined if it is none of them. */
export function formatOf(file: Buffer): ImageFormat | undefined {
  const text = file.toString('latin1', 0, 12);
  return FORMATS.find(({ beginning }) => beginning.test(text));
}

/** PNG: the size is in the first chunk, IHDR. */
function readPngSize(file: Buffer): ImageSize {
  if (file.toString('latin1', 12, 16) !== 'IHDR') throw new ImageError('invalid_image', 'is a PNG without a header.');
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

const START_OF_SCAN = 0xda;
/** Real files have some dozen segments before the start of frame. Fill bytes count, too. */
const MAX_STEPS = 10_000;

/** JPEG: segments of a marker and a length; the start of frame has the size. */
function readJpegSize(file: Buffer): ImageSize {
  let at = 2;
  for (let step = 0; step < MAX_STEPS; step++) {
    if (file.readUInt8(at) !== 0xff) throw damaged('between two of its segments');
    const marker = file.readUInt8(at + 1);
    // A marker may be preceded by any number of fill bytes.
    if (marker === 0xff) at += 1;
    else if (hasNoLength(marker)) at += 2;
    else if (isStartOfFrame(marker)) return readFrame(file, at, marker);
    else if (marker === START_OF_SCAN || marker === 0xd9) throw damaged('before its size is told');
    else at += 2 + Math.max(file.readUInt16BE(at + 2), 2);
  }
  throw damaged('before its size is told');
}

function hasNoLength(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/** 0xc4, 0xc8 and 0xcc are other markers. */
function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function readFrame(file: Buffer, at: number, marker: number): ImageSize {
  const precision = file.readUInt8(at + 4);
  const size = { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) };
  if (marker > 0xc2 || precision !== 8) {
    throw new ImageError(
      'invalid_image',
      'is a lossless, arithmetic or 12-bit JPEG, which cannot be read: save it as an ordinary one.',
    );
  }
  return size;
}

function damaged(where: string): ImageError {
  return new ImageError('invalid_image', `is a JPEG that is damaged ${where}.`);
}

/** GIF: the canvas size follows the signature. */
function readGifSize(file: Buffer): ImageSize {
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
}

const OS2_HEADER = 12;

/** BMP: the size is in the second header; in 16 bits each in that of OS/2. */
function readBmpSize(file: Buffer): ImageSize {
  const header = file.readUInt32LE(14);
  if (header === OS2_HEADER) return { width: file.readUInt16LE(18), height: file.readUInt16LE(20) };
  if (header < 40) throw new ImageError('invalid_image', 'is a BMP of a kind that cannot be read.');
  // A negative height means that the rows are stored top-down.
  return { width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) };
}

const ANIMATION = 0x02;

/** WebP: RIFF. The first chunk is a lossy image, a lossless image, or the extended header. */
function readWebpSize(file: Buffer): ImageSize {
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
