import { inflateSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ImageError } from '../../../ts/images/image-error.js';
import { validateImage } from '../../../ts/images/validate-image.js';
import { webpToPng } from '../../../ts/images/webp-to-png.js';
import { DRAWING, exif, webp, withExif } from '../../support/image-files.js';
import { pngChunk } from '../../support/picture.js';

const test = suite('unit: WebP as PNG');

/** Only what these tests make: RGB, filtered by Sub. */
function decodePng(file: Uint8Array): Pixels {
  const png = Buffer.from(file);
  const { width, height } = validateImage(file);
  const stride = 1 + width * 3;
  const data = png.indexOf('IDAT');
  const rows = inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)));
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    assert.is(rows[y * stride], 1, 'the filter Sub');
    for (let x = 0; x < width * 3; x++) {
      const left = x < 3 ? 0 : (rgb[y * width * 3 + x - 3] ?? 0);
      rgb[y * width * 3 + x] = left + (rows[y * stride + 1 + x] ?? 0);
    }
  }
  return { width, height, rgb };
}

interface Pixels {
  width: number;
  height: number;
  rgb: Uint8Array;
}

/** The colours in the middle and in a corner. */
function colours({ width, height, rgb }: Pixels): number[][] {
  const at = (x: number, y: number) => [...rgb.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)];
  return [at(width >> 1, height >> 1), at(0, 0)];
}

test('lossless: the very pixels, on white', async () => {
  const drawing = { ...DRAWING, ground: [0, 100, 255] as const };
  for (const alpha of [255, 51, 0]) {
    const pixels = decodePng(await webpToPng(await webp(drawing, { alpha })));
    assert.equal([pixels.width, pixels.height, pixels.rgb.length], [40, 30, 40 * 30 * 3]);
    const onWhite = (value: number) => Math.round(255 + ((value - 255) * alpha) / 255);
    assert.equal(colours(pixels), [drawing.square.map(onWhite), drawing.ground.map(onWhite)]);
  }
});

test('the EXIF data stays with the image', async () => {
  const file = withExif(await webp(DRAWING), exif(6));
  const png = Buffer.from(await webpToPng(file));
  assert.ok(png.includes(pngChunk('eXIf', exif(6))));
});

test('lossy: nearly the same', async () => {
  const [square = [], ground = []] = colours(decodePng(await webpToPng(await webp(DRAWING, { lossless: false }))));
  const expected = [...DRAWING.square, ...DRAWING.ground];
  [...square, ...ground].forEach((value, index) => {
    assert.ok(Math.abs(value - (expected[index] ?? 0)) < 12, `${square} ${ground}`);
  });
});

async function assertRejects(promise: Promise<unknown>, expected: (error: unknown) => boolean): Promise<void> {
  const error = await promise.then(
    () => assert.unreachable('It did not fail.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(expected(error), String(error));
}

const isDamage = (error: unknown) => error instanceof ImageError && error.code === 'invalid_image';

test('a damaged file, and after it a whole one', async () => {
  const whole = await webp(DRAWING, { lossless: false });
  await assertRejects(webpToPng(whole.subarray(0, 40)), isDamage);
  await assertRejects(webpToPng(Buffer.from('RIFF')), isDamage);
  assert.is(decodePng(await webpToPng(whole)).width, DRAWING.width);
});

test('several at a time, each its own', async () => {
  const widths = [3, 30, 7, 64];
  const files = await Promise.all(widths.map((width) => webp({ ...DRAWING, width })));
  const decoded = await Promise.all(files.map((file) => webpToPng(file)));
  assert.equal(
    decoded.map((png) => decodePng(png).width),
    widths,
  );
});

test('aborted conversions reject at once', async () => {
  const file = await webp(DRAWING);
  const reason = new Error('gone');
  await assertRejects(webpToPng(file, AbortSignal.abort(reason)), (error) => error === reason);
  const controller = new AbortController();
  const decoding = webpToPng(file, controller.signal);
  controller.abort(reason);
  await assertRejects(decoding, (error) => error === reason);
});

test('an aborted request does not wait for the images of others', async () => {
  const file = await webp(DRAWING);
  const leaving = new AbortController();
  const ends: string[] = [];
  const first = webpToPng(file).then(() => ends.push('converted'));
  const second = webpToPng(file, leaving.signal).catch(() => ends.push('left'));
  leaving.abort(new Error('gone'));
  await Promise.all([first, second]);
  assert.equal(ends, ['left', 'converted']);
});

test('the caller keeps its bytes', async () => {
  const file = Uint8Array.from(await webp(DRAWING));
  const copy = file.slice();
  await webpToPng(file);
  assert.equal(file, copy);
});

test.run();
