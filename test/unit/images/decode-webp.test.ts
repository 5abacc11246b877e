import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeWebp } from '../../../ts/images/decode-webp.js';
import { ImageFault } from '../../../ts/images/image-fault.js';
import { DRAWING, webp } from '../../support/pictures.js';

const test = suite('unit: WebP decoded');

/** The colours in the middle and in a corner. */
function colours({ width, height, rgb }: { width: number; height: number; rgb: Uint8Array }): number[][] {
  const at = (x: number, y: number) => [...rgb.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)];
  return [at(width >> 1, height >> 1), at(0, 0)];
}

test('lossless: the very pixels, without alpha', async () => {
  for (const alpha of [255, 10]) {
    const pixels = await decodeWebp(await webp(DRAWING, { alpha }));
    assert.equal([pixels.width, pixels.height, pixels.rgb.length], [40, 30, 40 * 30 * 3]);
    assert.equal(colours(pixels), [DRAWING.square, DRAWING.ground]);
  }
});

test('lossy: nearly the same', async () => {
  const [square = [], ground = []] = colours(await decodeWebp(await webp(DRAWING, { lossless: false })));
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

const isDamage = (error: unknown) => error instanceof ImageFault && error.code === 'invalid_image';

test('a damaged file, and after it a whole one', async () => {
  const whole = await webp(DRAWING, { lossless: false });
  await assertRejects(decodeWebp(whole.subarray(0, 40)), isDamage);
  await assertRejects(decodeWebp(Buffer.from('RIFF')), isDamage);
  assert.is((await decodeWebp(whole)).width, DRAWING.width);
});

test('several at a time, each its own', async () => {
  const widths = [3, 30, 7, 64];
  const files = await Promise.all(widths.map((width) => webp({ ...DRAWING, width })));
  const decoded = await Promise.all(files.map((file) => decodeWebp(file)));
  assert.equal(
    decoded.map(({ width }) => width),
    widths,
  );
});

test('nobody waits for it any more', async () => {
  const file = await webp(DRAWING);
  const reason = new Error('gone');
  await assertRejects(decodeWebp(file, AbortSignal.abort(reason)), (error) => error === reason);
  const controller = new AbortController();
  const decoding = decodeWebp(file, controller.signal);
  controller.abort(reason);
  await assertRejects(decoding, (error) => error === reason);
});

test('the caller keeps its bytes', async () => {
  const file = Uint8Array.from(await webp(DRAWING));
  const copy = file.slice();
  await decodeWebp(file);
  assert.equal(file, copy);
});

test.run();
