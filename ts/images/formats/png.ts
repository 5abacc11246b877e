/** PNG: the size is in the first chunk, IHDR. */
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { ImageFault } from '../image-fault.js';
import { MIB } from '../limits.js';
import type { ImageSize } from './format.js';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

export function isPng(file: Buffer): boolean {
  return file.subarray(0, 8).equals(SIGNATURE);
}

export function readPngSize(file: Buffer): ImageSize {
  if (file.toString('latin1', 12, 16) !== 'IHDR') throw new ImageFault('invalid_image', 'is a PNG without a header.');
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

/** Deflate makes 1 byte of at most 1032. */
const MOST_EXPANSION = 1032;
/** What the data may inflate to without being looked into. */
const HARMLESS = 256 * MIB;
/** 16 bits for each of four channels, and a filter byte for each row of each of the seven passes. */
const MOST_BYTES_PER_PIXEL = 8;
const MOST_ROW_BYTES = 16;

/**
 * The decoder makes as much memory as the data inflates to, whatever the header says: a few megabytes of zeros become
 * gigabytes. So data that could do that is inflated here first, off the JavaScript thread, with a limit.
 */
export async function checkPngData(file: Buffer, { width, height }: ImageSize): Promise<void> {
  const data = collectData(file);
  if (data.length * MOST_EXPANSION <= HARMLESS) return;
  const maxOutputLength = width * height * MOST_BYTES_PER_PIXEL + (height + width) * MOST_ROW_BYTES;
  try {
    await promisify(inflate)(data, { maxOutputLength, chunkSize: MIB });
  } catch {
    throw new ImageFault('invalid_image', 'is a damaged PNG: its data does not fit its header.');
  }
}

/** The contents of all IDAT chunks. What lies behind the end of the file is not there; the decoder says the same. */
function collectData(file: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at + 8 <= file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') parts.push(file.subarray(at + 8, at + 8 + length));
    if (type === 'IEND') break;
    at += length + 12;
  }
  return Buffer.concat(parts);
}
