// Compares completions about an image file with completions about its pixels.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { deflateSync } from 'node:zlib';
import encodeWebp, { init } from '@jsquash/webp/encode.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadImages } from '../../ts/images/load-images.js';
import { type ChasquiError, type ImageInput, loadModel, type Model } from '../../ts/index.js';
import { flatJpeg } from '../support/flat-jpeg.js';
import { picture as drawn, exif, PNG_SIGNATURE, withExif } from '../support/image-files.js';
import { type Pixels, pngChunk, toPng } from '../support/picture.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { syntheticProjector } from '../support/synthetic-projector.js';

const test = suite<{ model: Model }>('model: image files');

test.before(async (context) => {
  const shape = { imageSize: 64, patchSize: 8, layers: 2, width: 64, hidden: 128, heads: 2, modelWidth: 64 };
  const mmproj = syntheticProjector({ kind: 'mlp', ...shape });
  context.model = await loadModel(syntheticModel('tiny', ''), { contextSize: 1024, threads: 1, mmproj });
});
test.after(({ model }) => model.close());

async function seen(model: Model, image: ImageInput): Promise<number[]> {
  const content = [{ type: 'image' as const, image }];
  const ids: number[] = [];
  const request = { messages: [{ role: 'user' as const, content }], temperature: 0, maxTokens: 16 };
  for await (const token of model.generate(request)) ids.push(token.id);
  return ids;
}

/** As a request loads it. */
async function seenFile(model: Model, bytes: Uint8Array): Promise<number[]> {
  const [loaded] = await loadImages([{ from: bytes, param: 'image' }], { hosts: 'public' });
  return seen(model, loaded as { bytes: Uint8Array });
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: ChasquiError) => error.code,
  );

/** Blocks of 8 × 8 pixels in colours of their own. */
function blocks(width = 48, height = 24): Pixels {
  const rgb = new Uint8Array(3 * width * height);
  for (let at = 0; at < width * height; at++) {
    const block = Math.floor((at % width) / 8) + 7 * Math.floor(at / width / 8);
    rgb.set([(block * 89 + 30) & 255, (block * 151) & 255, (block * 211 + 90) & 255], 3 * at);
  }
  return { width, height, rgb };
}

const at = ({ width, rgb }: Pixels, x: number, y: number) => [
  ...rgb.subarray(3 * (y * width + x), 3 * (y * width + x) + 3),
];

/** The sides at which the stored rows and columns begin, by the EXIF standard. */
const SIDES = [
  'top left',
  'top right',
  'bottom right',
  'bottom left',
  'left top',
  'right top',
  'right bottom',
  'left bottom',
];

/** The pixels of a file with this orientation that shows `upright`. */
function stored(upright: Pixels, orientation: number): Pixels {
  const { width, height } = upright;
  const [rowSide, columnSide] = (SIDES[orientation - 1] as string).split(' ');
  const swaps = rowSide === 'left' || rowSide === 'right';
  const pixels = {
    width: swaps ? height : width,
    height: swaps ? width : height,
    rgb: new Uint8Array(upright.rgb.length),
  };
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const place = { x: 0, y: 0 };
      for (const [side, index] of [
        [rowSide, row],
        [columnSide, column],
      ] as const) {
        if (side === 'top') place.y = index;
        else if (side === 'bottom') place.y = height - 1 - index;
        else if (side === 'left') place.x = index;
        else place.x = width - 1 - index;
      }
      pixels.rgb.set(at(upright, place.x, place.y), 3 * (row * pixels.width + column));
    }
  }
  return pixels;
}

interface PngPixels {
  width: number;
  height: number;
  bits: number;
  /** PNG's: 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA. */
  colour: number;
  /** Bytes of one pixel. */
  bytesAt(x: number, y: number): number[];
}

function png({ width, height, bits, colour, bytesAt }: PngPixels, ...chunks: Buffer[]): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, bits, colour, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => bytesAt(x, y)).flat(),
  ]);
  const data = pngChunk('IDAT', deflateSync(Buffer.from(rows.flat())));
  return Buffer.concat([PNG_SIGNATURE, pngChunk('IHDR', header), ...chunks, data, pngChunk('IEND', Buffer.alloc(0))]);
}

async function webp({ width, height, rgb }: Pixels): Promise<Buffer> {
  await init({
    wasmBinary: readFileSync(createRequire(import.meta.url).resolve('@jsquash/webp/codec/enc/webp_enc_simd.wasm')),
  });
  const data = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++) data.set(rgb.subarray(3 * pixel, 3 * pixel + 3), 4 * pixel);
  return Buffer.from(
    await encodeWebp({ width, height, data, colorSpace: 'srgb' } as Parameters<typeof encodeWebp>[0], {
      lossless: 1,
      exact: 1,
    }),
  );
}

const rgbJpeg = (pixels: Pixels, data?: Buffer) =>
  flatJpeg({ ...pixels, components: 3, samples: (x, y) => at(pixels, x, y), adobe: 0, ...(data && { exif: data }) });

for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`the EXIF orientation ${orientation} is applied`, async ({ model }) => {
    const upright = await seen(model, blocks());
    const pixels = stored(blocks(), orientation);
    if (orientation > 1) assert.not.equal(await seen(model, pixels), upright);
    const data = exif(orientation);
    const little = Buffer.from('II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\0\0\0\0\0\0\0\0', 'latin1');
    little[18] = orientation;
    const whole = toPng(pixels);
    const end = whole.length - 12;
    const files = {
      JPEG: rgbJpeg(pixels, data),
      'little-endian JPEG': rgbJpeg(pixels, little),
      PNG: png({ ...pixels, bits: 8, colour: 2, bytesAt: (x, y) => at(pixels, x, y) }, pngChunk('eXIf', data)),
      'PNG with EXIF behind': Buffer.concat([whole.subarray(0, end), pngChunk('eXIf', little), whole.subarray(end)]),
      WebP: withExif(await webp(pixels), data),
      'WebP with a header': withExif(await webp(pixels), Buffer.concat([Buffer.from('Exif\0\0'), little])),
    };
    for (const [name, file] of Object.entries(files)) assert.equal(await seenFile(model, file), upright, name);
  });
}

test('damaged EXIF data changes nothing', async ({ model }) => {
  const upright = await seen(model, blocks());
  for (const data of [
    exif(0),
    exif(9),
    exif(6).subarray(0, 15),
    Buffer.from('MM\0*\xff\xff\xff\xff', 'latin1'),
    Buffer.alloc(0),
  ]) {
    assert.equal(await seenFile(model, rgbJpeg(blocks(), data)), upright, data.toString('hex'));
  }
});

test('transparent pixels are white', async ({ model }) => {
  const pixels = blocks();
  const alphaAt = (x: number, y: number) => [255, 0, 51, 128][((x >> 3) + (y >> 3)) % 4] as number;
  const onWhite = (value: number, alpha: number) => Math.floor((value * alpha + 255 * (255 - alpha) + 127) / 255);
  const flat = (colourAt: (x: number, y: number) => number[]): Pixels => {
    const rgb = new Uint8Array(pixels.rgb.length);
    for (let y = 0; y < pixels.height; y++) {
      for (let x = 0; x < pixels.width; x++) {
        rgb.set(
          colourAt(x, y).map((value) => onWhite(value, alphaAt(x, y))),
          3 * (y * pixels.width + x),
        );
      }
    }
    return { ...pixels, rgb };
  };
  const rgba = png({ ...pixels, bits: 8, colour: 6, bytesAt: (x, y) => [...at(pixels, x, y), alphaAt(x, y)] });
  assert.equal(
    await seenFile(model, rgba),
    await seen(
      model,
      flat((x, y) => at(pixels, x, y)),
    ),
  );
  const deep = png({
    ...pixels,
    bits: 16,
    colour: 6,
    bytesAt: (x, y) => [...at(pixels, x, y), alphaAt(x, y)].flatMap((value) => [value, 77]),
  });
  assert.equal(
    await seenFile(model, deep),
    await seen(
      model,
      flat((x, y) => at(pixels, x, y)),
    ),
  );
  const grey = (x: number, y: number) => at(pixels, x, y).slice(0, 1);
  const greyAlpha = png({ ...pixels, bits: 8, colour: 4, bytesAt: (x, y) => [...grey(x, y), alphaAt(x, y)] });
  assert.equal(
    await seenFile(model, greyAlpha),
    await seen(
      model,
      flat((x, y) => [...grey(x, y), ...grey(x, y), ...grey(x, y)]),
    ),
  );
  const palette = [pngChunk('PLTE', Buffer.from([10, 20, 30, 200, 100, 0])), pngChunk('tRNS', Buffer.from([0]))];
  const mapped = png({ ...pixels, bits: 8, colour: 3, bytesAt: (x) => [(x >> 3) & 1] }, ...palette);
  const striped = {
    ...pixels,
    rgb: pixels.rgb.map((_, index) =>
      (Math.floor(index / 3) % pixels.width) & 8 ? ([200, 100, 0][index % 3] as number) : 255,
    ),
  };
  assert.equal(await seenFile(model, mapped), await seen(model, striped));
});

test('16-bit PNG and CMYK JPEG have their colours', async ({ model }) => {
  const pixels = blocks();
  const expected = await seen(model, pixels);
  const deep = png({
    ...pixels,
    bits: 16,
    colour: 2,
    bytesAt: (x, y) => at(pixels, x, y).flatMap((value) => [value, 99]),
  });
  assert.equal(await seenFile(model, deep), expected);
  const inverted = { ...pixels, components: 4, samples: (x: number, y: number) => [...at(pixels, x, y), 255] };
  assert.equal(await seenFile(model, flatJpeg({ ...inverted, adobe: 0 })), expected);
  const error = await seenFile(model, flatJpeg({ ...inverted, adobe: null })).catch((thrown: ChasquiError) => thrown);
  assert.match((error as ChasquiError).message, /CMYK without Adobe's marker/);
});

test('truncated files of every format are refused', async ({ model }) => {
  const files = {
    jpeg: rgbJpeg(blocks()),
    png: toPng(blocks()),
    gif: await drawn('gif'),
    bmp: await drawn('bmp'),
    webp: await webp(blocks()),
  };
  for (const [name, file] of Object.entries(files)) {
    assert.is(await codeOf(seenFile(model, file)), 'none', name);
    for (const share of [0.5, 0.8, 0.95]) {
      const cut = file.subarray(0, Math.floor(file.length * share));
      assert.is(await codeOf(seenFile(model, cut)), 'invalid_image', `${name} ${share}`);
    }
  }
  const withoutEnd = files.jpeg.subarray(0, -2);
  assert.is(await codeOf(seenFile(model, withoutEnd)), 'invalid_image');
});

test.run();
