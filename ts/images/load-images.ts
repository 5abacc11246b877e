/** Loads and validates the image files of requests. */
import { ChasquiError } from '../errors.js';
import { isDataUri, parseDataUri } from './data-uri.js';
import { type FetchOptions, fetchImage, parseAddress } from './fetch-image.js';
import type { ImageType } from './formats/format.js';
import { ImageError } from './image-error.js';
import type { ImageSource } from './image-sources.js';
import { MAX_DOWNLOADS, MAX_IMAGES, MAX_TOTAL_FILE_BYTES, MAX_TOTAL_PIXELS, MIB } from './limits.js';
import { type Loading, LoadingRoom } from './loading-room.js';
import { validateImage } from './validate-image.js';
import { webpToPng } from './webp-to-png.js';

export interface LoadImagesOptions extends Pick<FetchOptions, 'hosts' | 'resolve' | 'timeoutMs'> {
  /** Aborts all downloads. */
  signal?: AbortSignal | undefined;
  /** Requests that share limits; default: all of this process. */
  room?: LoadingRoom;
}

/** A PNG, JPEG, GIF or BMP file with a valid header; not decoded yet. */
export interface LoadedImage {
  bytes: Uint8Array;
}

/**
 * Returns the images in the order of `sources`. Reports errors that need no download before the first download begins.
 * Rejects with a `ChasquiError` that names the image (`invalid_image_url`, `invalid_image`,
 * `image_too_large`, `image_download_failed`, `too_many_images`), with `queue_full` or `server_busy`, or with the
 * signal's reason.
 */
export async function loadImages(sources: readonly ImageSource[], options: LoadImagesOptions): Promise<LoadedImage[]> {
  refuseTooMany(sources);
  const total = new Total();
  const files = new Array<ValidFile>(sources.length);
  const downloads: Download[] = [];
  for (const [index, { from, param }] of sources.entries()) {
    await named(param, async () => {
      if (typeof from === 'string' && !isDataUri(from)) downloads.push({ index, param, url: parseAddress(from) });
      else files[index] = total.add(typeof from === 'string' ? parseDataUri(from) : from);
    });
  }
  if (downloads.length === 0 && files.every(({ type }) => type !== 'image/webp')) {
    return files.map(({ bytes }) => ({ bytes }));
  }
  const { room = LoadingRoom.ofAll } = options;
  return room.enter(options.signal, async (loading) => {
    const { signal } = loading;
    const onBytes = (bytes: number) => room.hold(loading, bytes);
    await downloadAll(downloads, loading, room, (download) =>
      named(download.param, async () => {
        const bytes = await fetchImage(download.url, { ...options, signal, onBytes });
        files[download.index] = total.add(bytes);
      }),
    );
    const images: LoadedImage[] = [];
    for (const [index, { param }] of sources.entries()) {
      await named(param, async () => {
        images.push({ bytes: await toReadable(files[index] as ValidFile, signal) });
      });
    }
    return images;
  });
}

interface ValidFile {
  bytes: Uint8Array;
  type: ImageType;
}

async function toReadable({ bytes, type }: ValidFile, signal: AbortSignal): Promise<Uint8Array> {
  return type === 'image/webp' ? webpToPng(bytes, signal) : bytes;
}

interface Download {
  index: number;
  param: string;
  url: URL;
}

/** Downloads several at a time. The first failure aborts the others. All have ended when the promise settles. */
async function downloadAll(
  downloads: readonly Download[],
  loading: Loading,
  room: LoadingRoom,
  load: (download: Download) => Promise<void>,
): Promise<void> {
  const rest = downloads.values();
  const loadRest = async (): Promise<void> => {
    for (const download of rest) await room.download(loading, () => load(download));
  };
  const workers = Array.from({ length: Math.min(MAX_DOWNLOADS, downloads.length) }, () =>
    loadRest().catch((error) => loading.end(error)),
  );
  await Promise.all(workers);
  loading.signal.throwIfAborted();
}

/** Validates each image of one request, and their totals. */
class Total {
  #bytes = 0;
  #pixels = 0;

  add(bytes: Uint8Array): ValidFile {
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_TOTAL_FILE_BYTES) {
      throw tooLargeTogether(`${MAX_TOTAL_FILE_BYTES / MIB} MiB`);
    }
    const { type, width, height } = validateImage(bytes);
    this.#pixels += width * height;
    if (this.#pixels > MAX_TOTAL_PIXELS) {
      throw tooLargeTogether(`${MAX_TOTAL_PIXELS / 1e6} million pixels`);
    }
    return { bytes, type };
  }
}

function tooLargeTogether(limit: string): ImageError {
  return new ImageError(
    'image_too_large',
    `makes the images of this request exceed ${limit} together: send smaller ones.`,
  );
}

function refuseTooMany(sources: readonly ImageSource[]): void {
  const param = sources[MAX_IMAGES]?.param;
  if (param === undefined) return;
  throw new ChasquiError(
    'too_many_images',
    `This request has ${sources.length} images, but at most ${MAX_IMAGES} are taken: leave out those of earlier messages.`,
    param,
  );
}

async function named(param: string, load: () => Promise<void>): Promise<void> {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    const named = new ChasquiError(error.code, `The image at \`${param}\` ${error.predicate}`, param);
    named.option = error.option;
    throw named;
  }
}
