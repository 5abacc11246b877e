// A thread that turns one WebP image into a PNG and ends. Plain JavaScript, because Node itself loads a worker's
// first file, and in tests that is the source.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { constants, crc32, deflateSync } from 'node:zlib';
import decode, { init } from '@jsquash/webp/decode.js';

const RGB = 2;
const SUB_FILTER = 1;

const program = fileURLToPath(import.meta.resolve('@jsquash/webp/codec/dec/webp_dec.wasm'));
await init({ wasmBinary: await readFile(program) });
const png = Uint8Array.from(encodePng(await decode(workerData), exifOf(Buffer.from(workerData))));
parentPort.postMessage(png, [png.buffer]);

/** The content of the file's EXIF chunk, which may say that the image must be rotated; `undefined`: none. */
function exifOf(file) {
  for (let at = 12; at + 8 <= file.length; ) {
    const length = file.readUInt32LE(at + 4);
    if (file.toString('latin1', at, at + 4) === 'EXIF') return file.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function encodePng(image, exif) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, RGB, 0, 0, 0]);
  header.writeUInt32BE(image.width, 0);
  header.writeUInt32BE(image.height, 4);
  // RLE only: several times faster than full compression, and uniform areas still become small.
  const data = deflateSync(filterRows(image), { strategy: constants.Z_RLE });
  const metadata = exif === undefined ? [] : [chunk('eXIf', exif)];
  const chunks = [chunk('IHDR', header), ...metadata, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]);
}

/** Each channel, composited on white, as the difference from its left neighbour. */
function filterRows({ data, width, height }) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    rows[to++] = SUB_FILTER;
    for (let x = 0, red = 0, green = 0, blue = 0; x < width; x++, from += 4, to += 3) {
      const alpha = data[from + 3];
      const newRed = onWhite(data[from], alpha);
      const newGreen = onWhite(data[from + 1], alpha);
      const newBlue = onWhite(data[from + 2], alpha);
      rows[to] = newRed - red;
      rows[to + 1] = newGreen - green;
      rows[to + 2] = newBlue - blue;
      red = newRed;
      green = newGreen;
      blue = newBlue;
    }
  }
  return rows;
}

/** As the engine does it with PNG files. */
function onWhite(value, alpha) {
  return Math.floor((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

function chunk(type, data) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}
