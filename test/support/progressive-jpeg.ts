/** The smallest progressive JPEG there can be: gray, each block of 8 x 8 pixels of one brightness. */

/** Brightness of the blocks, row by row, 0 to 255. */
export function progressiveJpeg(columns: number, rows: number, brightness: readonly number[]): Buffer {
  const size = [0, rows * 8, 0, columns * 8];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    // All coefficients are divided by 8, so the first one is the brightness itself.
    segment(0xdb, [0, ...Array(64).fill(8)]),
    segment(0xc2, [8, ...size, 1, 1, 0x11, 0]),
    // First coefficients: sizes of differences from 0 to 8 bits, each by a code of four bits.
    segment(0xc4, [0x00, 0, 0, 0, 9, ...Array(12).fill(0), 0, 1, 2, 3, 4, 5, 6, 7, 8]),
    // Table for the remaining scans: only the end-of-block symbol, with a code of one bit.
    segment(0xc4, [0x10, 1, ...Array(15).fill(0), 0x00]),
    segment(0xda, [1, 1, 0x00, 0, 0, 0]),
    toBytes(differences(brightness.map((value) => value - 128))),
    segment(0xda, [1, 1, 0x00, 1, 63, 0]),
    toBytes('0'.repeat(columns * rows)),
    Buffer.from([0xff, 0xd9]),
  ]);
}

function segment(marker: number, content: readonly number[]): Buffer {
  const length = content.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 0xff, ...content]);
}

function differences(values: readonly number[]): string {
  let bits = '';
  let previous = 0;
  for (const value of values) {
    const difference = value - previous;
    const size = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1;
    const coded = difference < 0 ? difference + 2 ** size - 1 : difference;
    bits += size.toString(2).padStart(4, '0');
    if (size > 0) bits += coded.toString(2).padStart(size, '0');
    previous = value;
  }
  return bits;
}

/** Filled up with ones; a byte of ones is followed by a zero. */
function toBytes(bits: string): Buffer {
  const bytes: number[] = [];
  for (let at = 0; at < bits.length; at += 8) {
    const byte = Number.parseInt(bits.slice(at, at + 8).padEnd(8, '1'), 2);
    bytes.push(byte, ...(byte === 0xff ? [0] : []));
  }
  return Buffer.from(bytes);
}
