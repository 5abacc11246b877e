import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ImageError } from '../../../ts/images/image-error.js';
import { validateImage } from '../../../ts/images/validate-image.js';
import { DRAWING, FORMATS, PNG_SIGNATURE, picture, pngHeader, webp } from '../../support/image-files.js';

const test = suite('unit: pictures judged before they are decoded');

function errorOf(bytes: Uint8Array): ImageError {
  try {
    validateImage(bytes);
  } catch (thrown) {
    if (thrown instanceof ImageError) return thrown;
    throw thrown;
  }
  throw new Error('It was taken for a picture.');
}

function sizeOf(bytes: Uint8Array): { width: number; height: number } {
  const { width, height } = validateImage(bytes);
  return { width, height };
}

const SIZE = { width: DRAWING.width, height: DRAWING.height };

for (const format of FORMATS) {
  test(`${format}: the size is read`, async () => {
    assert.equal(validateImage(await picture(format)), { type: `image/${format}`, ...SIZE });
    assert.equal(sizeOf(await picture(format)), SIZE);
  });

  test(`${format}: a file that ends within its header is cut off`, async () => {
    const whole = await picture(format);
    for (const length of [12, 16, 17].filter((shorter) => !(format === 'gif' && shorter > 9))) {
      const error = errorOf(whole.subarray(0, format === 'gif' ? 8 : length));
      assert.is(error.code, 'invalid_image', `${length} bytes: ${error.message}`);
    }
  });
}

test('no picture at all', async () => {
  for (const text of [
    '',
    'GIF',
    'hello',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'RIFF\0\0\0\0WAVEfmt ',
    '%PDF-1.7',
  ]) {
    const error = errorOf(Buffer.from(text));
    assert.is(error.code, 'invalid_image', text);
    assert.match(error.message, /no PNG, JPEG, WebP, GIF or BMP/);
  }
});

test('other formats are refused by name', () => {
  const box = (...brands: string[]) => `\0\0\0${String.fromCharCode(8 + 4 * brands.length)}ftyp${brands.join('')}`;
  const files: [file: string, name: string][] = [
    [box('avif', '\0\0\0\0', 'avif', 'mif1'), 'AVIF'],
    [box('avis', '\0\0\0\0'), 'AVIF'],
    [box('heic', '\0\0\0\0', 'mif1', 'heic'), 'HEIC'],
    [box('mif1', '\0\0\0\0', 'mif1', 'heix'), 'HEIC'],
    [box('mif1', 'avif', 'miaf'), 'HEIF'],
    ['\xff\x0a...', 'JPEG XL'],
    ['\0\0\0\x0cjP  \r\n', 'JPEG 2000'],
    ['II*\0', 'TIFF'],
    ['<?xml version="1.0"?>\n<svg width="1">', 'SVG'],
  ];
  for (const [file, name] of files) {
    const { code, message } = errorOf(Buffer.from(file, 'latin1'));
    assert.equal([code, message.includes(`file, but ${name}: send`)], ['invalid_image', true], message);
  }
  assert.match(errorOf(Buffer.from(box('mp42', '\0\0\0\0', 'isom'), 'latin1')).message, /BMP file: send/);
});

test('lossy and extended WebP', async () => {
  assert.equal(sizeOf(await webp(DRAWING, { lossless: false })), SIZE);
  const extended = await webp(DRAWING, { lossless: false, alpha: 128 });
  assert.is(extended.toString('latin1', 12, 16), 'VP8X');
  assert.equal(sizeOf(extended), SIZE);
});

test('an animated WebP', async () => {
  const animated = await webp(DRAWING, { lossless: false, alpha: 128 });
  animated[20] = (animated[20] ?? 0) | 2;
  assert.match(errorOf(animated).message, /animated/);
});

function claims(file: Buffer, change: (file: Buffer) => void): Buffer {
  const changed = Buffer.from(file);
  change(changed);
  return changed;
}

const HUGE: [name: string, make: () => Promise<Buffer>][] = [
  ['PNG of 100,000 x 100,000', async () => Buffer.concat([PNG_SIGNATURE, pngHeader(100_000, 100_000)])],
  ['PNG of one long row', async () => Buffer.concat([PNG_SIGNATURE, pngHeader(16_385, 1)])],
  ['PNG of 50 million pixels and some', async () => Buffer.concat([PNG_SIGNATURE, pngHeader(8192, 6104)])],
  ['GIF', async () => claims(await picture('gif'), (file) => file.writeUInt32LE(0xffffffff, 6))],
  ['BMP', async () => claims(await picture('bmp'), (file) => file.writeInt32LE(-100_000, 22))],
  ['lossless WebP', async () => claims(await picture('webp'), (file) => file.writeUInt32LE(0x0fffffff, 21))],
  [
    'lossy WebP',
    async () => claims(await webp(DRAWING, { lossless: false }), (file) => file.writeUInt32LE(0x3fff3fff, 26)),
  ],
  ['JPEG', async () => claims(await picture('jpeg'), (file) => file.writeUInt32BE(0xffffffff, startOfFrame(file) + 5))],
];

for (const [name, make] of HUGE) {
  test(`too many pixels: ${name}`, async () => {
    const error = errorOf(await make());
    assert.is(error.code, 'image_too_large', error.message);
    assert.match(error.message, /\d x \d+ pixels.*at most 50 million.*16384/);
  });
}

test('as many pixels as there may be', async () => {
  const file = Buffer.concat([PNG_SIGNATURE, pngHeader(8192, 6103)]);
  assert.equal(sizeOf(file), { width: 8192, height: 6103 });
});

for (const format of ['png', 'gif', 'bmp', 'jpeg'] as const) {
  test(`${format}: no pixels`, async () => {
    const at = { png: 16, gif: 8, bmp: 22, jpeg: 0 }[format];
    const file = claims(await picture(format), (changed) => {
      if (format === 'jpeg') changed.fill(0, startOfFrame(changed) + 5, startOfFrame(changed) + 7);
      else changed.fill(0, at, at + (format === 'gif' ? 2 : 4));
    });
    assert.match(errorOf(file).message, /no pixels/);
  });
}

test('a file over 20 MiB', async () => {
  const file = Buffer.concat([await picture('png'), Buffer.alloc(20 * 1024 * 1024)]);
  assert.is(errorOf(file).code, 'image_too_large');
});

test('a JPEG of millions of fill bytes or empty segments is not read to its end', async () => {
  const real = await picture('jpeg');
  for (const pattern of [Buffer.from([0xff]), Buffer.from([0xff, 0xe0, 0, 2])]) {
    const many = Buffer.concat([real.subarray(0, 2), Buffer.alloc(4 << 20, pattern), real.subarray(2)]);
    const error = errorOf(many);
    assert.is(error.code, 'invalid_image');
    assert.match(error.message, /before its size is told/);
    const few = Buffer.concat([real.subarray(0, 2), Buffer.alloc(4000, pattern), real.subarray(2)]);
    assert.equal(sizeOf(few), SIZE);
  }
});

test('kinds of JPEG and BMP that are not read', async () => {
  const arithmetic = claims(await picture('jpeg'), (file) => file.writeUInt8(0xc9, startOfFrame(file) + 1));
  assert.match(errorOf(arithmetic).message, /arithmetic/);
  const deep = claims(await picture('jpeg'), (file) => file.writeUInt8(12, startOfFrame(file) + 4));
  assert.match(errorOf(deep).message, /12-bit/);
  const unknown = claims(await picture('bmp'), (file) => file.writeUInt32LE(16, 14));
  assert.match(errorOf(unknown).message, /BMP of a kind/);
});

test('a JPEG with fill bytes, comments and stray bytes before its frame', async () => {
  const whole = await picture('jpeg');
  const behindStart = (...bytes: number[]) =>
    Buffer.concat([whole.subarray(0, 2), Buffer.from(bytes), whole.subarray(2)]);
  assert.equal(sizeOf(behindStart(0xff, 0xff)), SIZE);
  assert.equal(sizeOf(behindStart(0xff, 0xfe, 0, 4, 0xff, 0xc0)), SIZE);
  assert.match(
    errorOf(Buffer.concat([whole.subarray(0, 20), Buffer.from('hello'), whole.subarray(20)])).message,
    /damaged/,
  );
  assert.match(errorOf(Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0, 0])).message, /damaged/);
});

test('an OS/2 BMP', async () => {
  const file = Buffer.alloc(26);
  file.write('BM');
  file.writeUInt32LE(12, 14);
  file.writeUInt16LE(7, 18);
  file.writeUInt16LE(5, 20);
  assert.equal(sizeOf(file), { width: 7, height: 5 });
});

function startOfFrame(file: Buffer): number {
  return file.indexOf(Buffer.from([0xff, 0xc0]));
}

test.run();
