/** Writes JPEG files of flat blocks: decoding returns exactly the given samples. */

export interface FlatJpeg {
  /** In pixels: multiples of 8. */
  width: number;
  height: number;
  components: number;
  /** The samples of the block at this pixel. */
  samples(x: number, y: number): readonly number[];
  /** Adobe's colour transform, in its marker; `null`: without a marker. 0 means RGB or inverted CMYK. */
  adobe: 0 | 2 | null;
  /** TIFF data. */
  exif?: Buffer;
}

const BLOCK = 8;
/** Categories of DC differences have four bits each; the only AC code, end of block, has one. */
const CATEGORIES = 12;
const CATEGORY_BITS = 4;

export function flatJpeg({ width, height, components, samples, adobe, exif }: FlatJpeg): Buffer {
  const each = Array.from({ length: components }, (_, index) => index + 1);
  const bits: string[] = [];
  const last = each.map(() => 0);
  for (let y = 0; y < height; y += BLOCK) {
    for (let x = 0; x < width; x += BLOCK) {
      samples(x, y).forEach((sample, index) => {
        const dc = BLOCK * (sample - 128);
        bits.push(dcCode(dc - (last[index] ?? 0)), '0');
        last[index] = dc;
      });
    }
  }
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...(exif === undefined ? [] : [segment(0xe1, [...Buffer.from('Exif\0\0'), ...exif])]),
    ...(adobe === null ? [] : [segment(0xee, [...Buffer.from('Adobe\0'), 100, 0, 0, 0, 0, adobe])]),
    segment(0xdb, [0, ...Array(64).fill(1)]),
    segment(0xc0, [
      8,
      height >> 8,
      height & 255,
      width >> 8,
      width & 255,
      components,
      ...each.flatMap((id) => [id, 0x11, 0]),
    ]),
    segment(0xc4, [0x00, ...counts(CATEGORY_BITS, CATEGORIES), ...Array(CATEGORIES).keys()]),
    segment(0xc4, [0x10, ...counts(1, 1), 0]),
    segment(0xda, [components, ...each.flatMap((id) => [id, 0]), 0, 63, 0]),
    packed(bits.join('')),
    Buffer.from([0xff, 0xd9]),
  ]);
}

function segment(marker: number, content: readonly number[]): Buffer {
  const length = content.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 255, ...content]);
}

/** How many codes there are of each length from 1 to 16 bits. */
function counts(length: number, count: number): number[] {
  return Array.from({ length: 16 }, (_, index) => (index + 1 === length ? count : 0));
}

/** The category, and then the difference in as many bits: less one if it is negative. */
function dcCode(difference: number): string {
  const category = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1;
  const value = difference < 0 ? difference + 2 ** category - 1 : difference;
  const bits = category === 0 ? '' : value.toString(2).padStart(category, '0');
  return category.toString(2).padStart(CATEGORY_BITS, '0') + bits;
}

/** A byte 0xff within a scan is followed by 0. */
function packed(bits: string): Buffer {
  const bytes = (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '1'), 2));
  return Buffer.from(bytes.flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte])));
}
