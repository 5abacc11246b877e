/**
 * `data:<media type>;base64,<data>` → bytes. Invalid base64 is an error. The media type is ignored, because the first bytes
 * determine the format.
 */
import { fileTooLarge, ImageError } from './image-error.js';
import { MAX_FILE_BYTES } from './limits.js';

const EXPECTED = 'must have the form `data:<type>;base64,<data>`';
/** Longer than any media type: limits the search for the comma. */
const MAX_HEAD_LENGTH = 200;

export function isDataUri(url: string): boolean {
  return /^data:/i.test(url);
}

/** @throws {ImageError} `invalid_image_url`, `image_too_large` */
export function parseDataUri(uri: string): Uint8Array {
  const [head = ''] = /^data:[^,\s]*;base64,/i.exec(uri.slice(0, MAX_HEAD_LENGTH)) ?? [];
  if (head === '') throw new ImageError('invalid_image_url', `is not a base64 data URI: it ${EXPECTED}.`);
  const size = ((uri.length - head.length) * 3) / 4;
  if (size - 2 > MAX_FILE_BYTES) throw fileTooLarge();
  return decodeBase64(uri.slice(head.length));
}

/** Node's decoder ignores invalid characters, so the bytes are encoded again and compared. */
function decodeBase64(data: string): Uint8Array {
  if (data === '') throw new ImageError('invalid_image_url', 'is an empty data URI: the data is missing.');
  const bytes = Buffer.from(data, 'base64');
  if (bytes.toString('base64') !== data) {
    throw new ImageError(
      'invalid_image_url',
      `is not proper base64: only A-Z, a-z, 0-9, + and / may stand in it, without line breaks, padded with = to a multiple of 4.`,
    );
  }
  return bytes;
}
