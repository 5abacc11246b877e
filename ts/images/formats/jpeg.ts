/** JPEG: segments of a marker and a length; the start of frame has the size. */
import { ImageError } from '../image-error.js';
import type { ImageSize } from './format.js';

const START_OF_SCAN = 0xda;
/** Real files have some dozen segments before the start of frame. Fill bytes count, too. */
const MAX_STEPS = 10_000;

export function isJpeg(file: Buffer): boolean {
  return file[0] === 0xff && file[1] === 0xd8 && file[2] === 0xff;
}

export function readJpegSize(file: Buffer): ImageSize {
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
