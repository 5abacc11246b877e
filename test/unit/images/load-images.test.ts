import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import type { ImageSource } from '../../../ts/images/image-sources.js';
import { MIB } from '../../../ts/images/limits.js';
import { type LoadImagesOptions, loadImages } from '../../../ts/images/load-images.js';
import { LoadingRoom } from '../../../ts/images/loading-room.js';
import { webpToPng } from '../../../ts/images/webp-to-png.js';
import { dataUri, FORMATS, PNG_SIGNATURE, picture, pictureUri, pngHeader } from '../../support/image-files.js';
import { type ImageServer, imageServer, silence } from '../../support/image-server.js';
import { until } from '../../support/until.js';

const test = suite<{ server: ImageServer }>('unit: pictures of a request loaded');

/** Bytes received of a file that never completes. */
const UNFINISHED_BYTES = MIB;

test.before(async (context) => {
  const answers = Object.fromEntries(
    await Promise.all(
      FORMATS.map(async (format) => {
        const file = await picture(format);
        return [`/${format}`, (_: unknown, response: { end(data: Buffer): void }) => response.end(file)] as const;
      }),
    ),
  );
  context.server = await imageServer({
    ...answers,
    '/silence': silence,
    '/unfinished': (_, response) => response.write(Buffer.alloc(UNFINISHED_BYTES)),
    '/page': (_, response) => response.setHeader('content-type', 'image/png').end('<!doctype html>'),
    '/text': async (_, response) => response.setHeader('content-type', 'text/html').end(await picture('png')),
  });
});

test.after(({ server }) => server.close());

async function load(from: readonly (string | Uint8Array)[], options: Partial<LoadImagesOptions> = {}) {
  const sources: ImageSource[] = from.map((source, index) => ({ from: source, param: `images[${index}]` }));
  return (await loadImages(sources, { hosts: 'loopback', ...options })) as { bytes: Uint8Array }[];
}

async function errorOf(promise: Promise<unknown>): Promise<ChasquiError> {
  const thrown = await promise.then(
    () => assert.unreachable('They were loaded.'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ChasquiError)) throw thrown;
  return thrown;
}

test('all formats, from everywhere, in order', async ({ server }) => {
  const from = [];
  const expected = [];
  for (const format of FORMATS) {
    const file = await picture(format);
    from.push(`${server.url}/${format}`, await pictureUri(format), Uint8Array.from(file));
    const readable = format === 'webp' ? Buffer.from(await webpToPng(file)) : file;
    expected.push(readable, readable, readable);
  }
  const loaded = await load(from);
  assert.equal(
    loaded.map(({ bytes }) => Buffer.from(bytes)),
    expected,
  );
});

test('content counts, and not its header', async ({ server }) => {
  assert.is((await load([`${server.url}/text`])).length, 1);
  const error = await errorOf(load([`${server.url}/page`]));
  assert.is(error.code, 'invalid_image');
  assert.match(error.message, /^The image at `images\[0\]` is no PNG, JPEG/);
});

test('the picture at fault is named, and what needs no download is told first', async ({ server }) => {
  const png = await pictureUri('png');
  const broken = dataUri(Buffer.from('x'), 'image/png');
  const before = server.seen.length;
  for (const [from, param, code] of [
    [[png, 'gopher://x'], 'images[1]', 'invalid_image_url'],
    [[`${server.url}/png`, broken], 'images[1]', 'invalid_image'],
    [[`${server.url}/absent`, png, `${png}x`], 'images[2]', 'invalid_image_url'],
  ] as const) {
    const error = await errorOf(load(from));
    assert.equal([error.param, error.code], [param, code], error.message);
  }
  assert.is(server.seen.length, before);
  const error = await errorOf(load([png, `${server.url}/absent`]));
  assert.equal([error.param, error.code], ['images[1]', 'image_download_failed']);
});

test('a hundred, and not one more', async () => {
  const png = await pictureUri('png');
  assert.is((await load(Array(100).fill(png))).length, 100);
  const error = await errorOf(load(Array(101).fill(png)));
  assert.equal([error.code, error.param], ['too_many_images', 'images[100]']);
  assert.match(error.message, /101 images, but at most 100/);
});

test('a hundred screens', async () => {
  const screen = Buffer.concat([PNG_SIGNATURE, pngHeader(1920, 1080)]);
  assert.is((await load(Array(100).fill(screen))).length, 100);
});

test('bytes decide what an image is, not its label', async () => {
  const png = await picture('png');
  for (const label of ['image/jpeg', 'application/octet-stream', 'text/plain', 'image/avif']) {
    assert.equal(Buffer.from((await load([dataUri(png, label)]))[0]?.bytes ?? []), png, label);
  }
});

test('not too much together', async () => {
  const heavy = Buffer.concat([await picture('png'), Buffer.alloc(17_000_000)]);
  assert.equal((await errorOf(load(Array(4).fill(heavy)))).param, 'images[3]');
  const large = Buffer.concat([PNG_SIGNATURE, pngHeader(7000, 7000)]);
  assert.is((await load(Array(5).fill(large))).length, 5);
  const error = await errorOf(load(Array(6).fill(large)));
  assert.equal([error.code, error.param], ['image_too_large', 'images[5]']);
  assert.match(error.message, /exceed 250 million pixels together/);
});

test('the first failure ends the other downloads', async ({ server }) => {
  const error = await errorOf(load([`${server.url}/silence`, `${server.url}/absent`, `${server.url}/silence`]));
  assert.is(error.param, 'images[1]');
  await until(async () => (await server.connections()) === 0, 'the connections are closed');
});

test('four at a time', async ({ server }) => {
  const controller = new AbortController();
  const before = server.seen.length;
  const loading = load(Array(9).fill(`${server.url}/silence`), { signal: controller.signal });
  await until(() => server.seen.length === before + 4, 'four arrive');
  const reason = new Error('gone');
  controller.abort(reason);
  assert.is(await loading.catch((error) => error), reason);
  await until(async () => (await server.connections()) === 0, 'the connections are closed');
  assert.is(server.seen.length, before + 4);
});

test('sixty-four at a time for all requests together', async ({ server }) => {
  const controller = new AbortController();
  const before = server.seen.length;
  const images = Array(4).fill(`${server.url}/silence`);
  const all = Array.from({ length: 20 }, () => load(images, { signal: controller.signal }).catch((error) => error));
  await until(() => server.seen.length === before + 64, 'sixty-four arrive');
  const reason = new Error('gone');
  controller.abort(reason);
  assert.equal(await Promise.all(all), Array(20).fill(reason));
  await until(async () => (await server.connections()) === 0, 'the connections are closed');
  assert.is(server.seen.length, before + 64);
});

test('no more requests wait for their images than there is room for', async ({ server }) => {
  const room = new LoadingRoom({ downloads: 1, requests: 2, bytes: MIB });
  const controller = new AbortController();
  const silent = [`${server.url}/silence`];
  const waiting = [1, 2].map(() => load(silent, { signal: controller.signal, room }).catch((error) => error));
  const refused = await errorOf(load([await pictureUri('webp')], { room }));
  assert.equal([refused.code, refused.retryAfterSeconds], ['queue_full', 5]);
  assert.is((await load([await pictureUri('png')], { room })).length, 1, 'it waits for nothing');
  controller.abort(new Error('gone'));
  await Promise.all(waiting);
  assert.is((await load([`${server.url}/png`, await pictureUri('webp')], { room })).length, 2);
});

test('where the files of all have no room, whoever holds most makes way', async ({ server }) => {
  const room = new LoadingRoom({ downloads: 64, requests: 64, bytes: 3 * UNFINISHED_BYTES });
  const leaving = new AbortController();
  const unfinished = (count: number) =>
    load(Array(count).fill(`${server.url}/unfinished`), { signal: leaving.signal, room }).catch((error) => error);
  const [large, small] = [unfinished(2), unfinished(1)];
  await until(() => room.bytes === 3 * UNFINISHED_BYTES, 'it is full');
  assert.is((await load([`${server.url}/png`], { room })).length, 1);
  assert.is((await large).code, 'server_busy');
  assert.is(room.bytes, UNFINISHED_BYTES);
  assert.is((await unfinished(3)).code, 'server_busy', 'it would hold most itself');
  const reason = new Error('gone');
  leaving.abort(reason);
  assert.is(await small, reason);
  assert.is(room.bytes, 0);
});

test.run();
