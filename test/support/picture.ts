/** Pictures to show to models: patterns that differ by their seed. */
import { crc32, deflateSync } from 'node:zlib';

export interface Pixels {
  width: number;
  height: number;
  rgb: Uint8Array;
}

export function picture(seed: number, width = 80, height = 60): Pixels {
  const rgb = new Uint8Array(3 * width * height);
  for (let i = 0; i < rgb.length; i++) rgb[i] = i * seed * 7 + (i >> 5) * seed;
  return { width, height, rgb };
}

export function toPng({ width, height, rgb }: Pixels): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8); // bits, red green blue
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y++) rows.set(rgb.subarray(3 * width * y, 3 * width * (y + 1)), y * (1 + 3 * width) + 1);
  const magic = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([
    magic,
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
