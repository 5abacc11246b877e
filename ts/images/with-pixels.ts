/** The last step before the engine: whatever it cannot decode itself is decoded for it. */
import { ChasquiError } from '../errors.js';
import { decodeWebp, type Pixels } from './decode-webp.js';
import { isWebp } from './formats/webp.js';
import { ImageFault } from './image-fault.js';
import { judgeImage } from './judge-image.js';
import type { LoadedImage } from './load-images.js';

/** A picture's file, or its pixels. */
export type Picture = LoadedImage | Pixels;

/**
 * Calls `use` with `images`, WebP files among them turned into pixels. One job's pictures are decoded at a time, by
 * whoever decodes them: a decoded picture may take 150 MB, and decoding may take one thread of libuv's pool, but not
 * all of those that tokenize other people's prompts. Rejects with a `ChasquiError` that has an `imageIndex`, with the
 * signal's reason, or as `use` does.
 */
export function withPixels<T>(
  images: readonly Picture[],
  signal: AbortSignal | undefined,
  use: (images: readonly Picture[]) => Promise<T>,
): Promise<T> {
  if (images.length === 0) return use(images);
  return inTurn(async () => {
    const decoded: Picture[] = [];
    for (const [index, image] of images.entries()) {
      signal?.throwIfAborted();
      decoded.push(isWebpFile(image) ? await decode(image, index, signal) : image);
    }
    return use(decoded);
  });
}

let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work);
  last = turn.catch(() => undefined);
  return turn;
}

function isWebpFile(image: Picture): image is LoadedImage {
  return 'bytes' in image && isWebp(Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength));
}

async function decode({ bytes }: LoadedImage, index: number, signal: AbortSignal | undefined): Promise<Pixels> {
  try {
    judgeImage(bytes, null);
    return await decodeWebp(bytes, signal);
  } catch (thrown) {
    if (!(thrown instanceof ImageFault)) throw thrown;
    const error = new ChasquiError(thrown.code, thrown.message);
    error.imageIndex = index;
    throw error;
  }
}
