/** Small pictures as files in every format that is taken, made here: a square of one colour on a ground of another. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import encodeWebp, { init } from '@jsquash/webp/encode.js';
import jpeg from 'jpeg-js';
import { pngChunk, toPng } from './picture.js';

export type Format = 'png' | 'jpeg' | 'gif' | 'bmp' | 'webp';
export const FORMATS: readonly Format[] = ['png', 'jpeg', 'gif', 'bmp', 'webp'];

type Colour = readonly [number, number, number];

export interface Drawing {
  width: number;
  height: number;
  ground: Colour;
  square: Colour;
}

export const DRAWING: Drawing = { width: 40, height: 30, ground: [255, 255, 255], square: [200, 30, 30] };

export async function picture(format: Format, drawing: Drawing = DRAWING): Promise<Buffer> {
  switch (format) {
    case 'png':
      return toPng({ ...drawing, rgb: pixels(drawing, 3) });
    case 'jpeg':
      return jpeg.encode({ ...drawing, data: pixels(drawing, 4) }, 90).data;
    case 'gif':
      return gif(drawing);
    case 'bmp':
      return bmp(drawing);
    case 'webp':
      return webp(drawing);
  }
}

export function dataUri(bytes: Uint8Array, mediaType: string): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
}

export async function pictureUri(format: Format, drawing: Drawing = DRAWING): Promise<string> {
  return dataUri(await picture(format, drawing), `image/${format}`);
}

function inSquare({ width, height }: Drawing, x: number, y: number): boolean {
  return Math.abs(2 * x - width) < width / 2 && Math.abs(2 * y - height) < height / 2;
}

/** Rows from the top; the fourth channel, where there is one, is opaque. */
function pixels(drawing: Drawing, channels: 3 | 4): Buffer {
  const data = Buffer.alloc(drawing.width * drawing.height * channels, 255);
  for (let y = 0; y < drawing.height; y++) {
    for (let x = 0; x < drawing.width; x++) {
      const colour = inSquare(drawing, x, y) ? drawing.square : drawing.ground;
      data.set(colour, (y * drawing.width + x) * channels);
    }
  }
  return data;
}

export const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** 8 bits a channel, RGB. */
export function pngHeader(width: number, height: number): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return pngChunk('IHDR', header);
}

/** 24 bits, rows from the bottom, each padded to a multiple of four bytes. */
function bmp(drawing: Drawing): Buffer {
  const rgb = pixels(drawing, 3);
  const stride = Math.ceil((drawing.width * 3) / 4) * 4;
  const file = Buffer.alloc(54 + stride * drawing.height);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(drawing.width, 18);
  file.writeInt32LE(drawing.height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let y = 0; y < drawing.height; y++) {
    for (let x = 0; x < drawing.width; x++) {
      const at = (y * drawing.width + x) * 3;
      const bgr = [rgb[at + 2] ?? 0, rgb[at + 1] ?? 0, rgb[at] ?? 0];
      file.set(bgr, 54 + (drawing.height - 1 - y) * stride + x * 3);
    }
  }
  return file;
}

/** A palette of four, and codes of three bits that never grow, because a clear code comes before every second pixel. */
function gif(drawing: Drawing): Buffer {
  const CLEAR = 4;
  const END = 5;
  const codes: number[] = [];
  for (let y = 0; y < drawing.height; y++) {
    for (let x = 0; x < drawing.width; x++) {
      if (codes.length % 3 === 0) codes.push(CLEAR);
      codes.push(inSquare(drawing, x, y) ? 1 : 0);
    }
  }
  const data = packBits([...codes, END], 3);
  const blocks: Buffer[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.subarray(at, at + 255);
    blocks.push(Buffer.from([block.length]), block);
  }
  const size = Buffer.alloc(4);
  size.writeUInt16LE(drawing.width, 0);
  size.writeUInt16LE(drawing.height, 2);
  const palette = Buffer.from([...drawing.ground, ...drawing.square, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from('GIF89a'),
    size,
    Buffer.from([0xf1, 0, 0]),
    palette,
    Buffer.from([0x2c, 0, 0, 0, 0]),
    size,
    Buffer.from([0, 2]),
    ...blocks,
    Buffer.from([0, 0x3b]),
  ]);
}

/** The lowest bit of the first code comes first. */
function packBits(codes: readonly number[], width: number): Buffer {
  const packed = Buffer.alloc(Math.ceil((codes.length * width) / 8));
  codes.forEach((code, index) => {
    for (let bit = 0; bit < width; bit++) {
      const at = index * width + bit;
      if ((code >> bit) & 1) packed[at >> 3] = (packed[at >> 3] ?? 0) | (1 << (at & 7));
    }
  });
  return packed;
}

let encoder: Promise<unknown> | null = null;

export async function webp(drawing: Drawing, { lossless = true, alpha = 255 } = {}): Promise<Buffer> {
  const program = createRequire(import.meta.url).resolve('@jsquash/webp/codec/enc/webp_enc_simd.wasm');
  encoder ??= init({ wasmBinary: readFileSync(program) });
  await encoder;
  const rgba = pixels(drawing, 4);
  for (let at = 3; at < rgba.length; at += 4) rgba[at] = alpha;
  const image = { width: drawing.width, height: drawing.height, data: new Uint8ClampedArray(rgba) };
  const options = lossless ? { lossless: 1, exact: 1 } : { quality: 90 };
  return Buffer.from(await encodeWebp(image as Parameters<typeof encodeWebp>[0], options));
}

/** EXIF data with an orientation, in big-endian TIFF. */
export function exif(orientation: number): Buffer {
  const data = Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0', 'latin1');
  data.writeUInt16BE(orientation, 18);
  return data;
}

/** A lossless WebP with EXIF data, which needs the extended header. */
export function withExif(plain: Buffer, data: Buffer): Buffer {
  const chunk = (type: string, content: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(content.length);
    return Buffer.concat([Buffer.from(type), length, content, Buffer.alloc(content.length % 2)]);
  };
  const EXIF_FLAG = 8;
  const bits = plain.readUInt32LE(21);
  const header = Buffer.alloc(10);
  header[0] = EXIF_FLAG;
  header.writeUIntLE(bits & 0x3fff, 4, 3);
  header.writeUIntLE((bits >>> 14) & 0x3fff, 7, 3);
  const chunks = [chunk('VP8X', header), plain.subarray(12), chunk('EXIF', data)];
  const file = Buffer.concat([plain.subarray(0, 12), ...chunks]);
  file.writeUInt32LE(file.length - 8, 4);
  return file;
}
