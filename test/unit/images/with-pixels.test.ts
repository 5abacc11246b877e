import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { type Picture, withPixels } from '../../../ts/images/with-pixels.js';
import { DRAWING, FORMATS, picture, webp } from '../../support/pictures.js';

const test = suite('unit: pictures made ready for the engine');

const asTheyAre = async (images: readonly Picture[]) => images;

test('WebP becomes pixels, everything else stays', async () => {
  const pixels = { width: 1, height: 1, rgb: Uint8Array.from([1, 2, 3]) };
  const files = await Promise.all(FORMATS.map((format) => picture(format)));
  const images = [pixels, ...files.map((bytes) => ({ bytes }))];
  const ready = await withPixels(images, undefined, asTheyAre);
  assert.equal(ready.slice(0, -1), images.slice(0, -1));
  const { width, height, rgb } = ready.at(-1) as typeof pixels;
  assert.equal([width, height, rgb.length], [DRAWING.width, DRAWING.height, DRAWING.width * DRAWING.height * 3]);
});

test('the picture at fault has its number', async () => {
  const whole = await webp(DRAWING);
  const huge = Buffer.from(whole);
  huge.writeUInt32LE(0x0fffffff, 21);
  for (const [bytes, code] of [
    [whole.subarray(0, 30), 'invalid_image'],
    [huge, 'image_too_large'],
  ] as const) {
    const error = await withPixels([{ bytes: whole }, { bytes }], undefined, asTheyAre).catch((thrown) => thrown);
    assert.instance(error, ChasquiError);
    assert.equal([error.code, error.imageIndex], [code, 1]);
  }
});

test('one job’s pictures at a time, and a failure holds up nobody', async () => {
  const bytes = await picture('png');
  let running = 0;
  let most = 0;
  const work = async (): Promise<string> => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return 'done';
  };
  const fail = async (): Promise<string> => {
    throw new Error('failed');
  };
  const jobs = [work, fail, work, work].map((use) => withPixels([{ bytes }], undefined, use).catch(() => 'failed'));
  assert.equal(await Promise.all(jobs), ['done', 'failed', 'done', 'done']);
  assert.is(most, 1);
});

test('jobs without pictures wait for nobody', async () => {
  let finish = (): void => undefined;
  const busy = withPixels(
    [{ bytes: await picture('png') }],
    undefined,
    () => new Promise<void>((resolve) => (finish = resolve)),
  );
  assert.equal(await withPixels([], undefined, asTheyAre), []);
  finish();
  await busy;
});

test('what nobody waits for is not decoded', async () => {
  const reason = new Error('gone');
  let used = false;
  const job = withPixels([{ bytes: await webp(DRAWING) }], AbortSignal.abort(reason), async () => {
    used = true;
  });
  assert.is(await job.catch((thrown) => thrown), reason);
  assert.not.ok(used);
});

test.run();
