/** Loads and validates the image and audio files of requests. */
import { ChasquiError, type ErrorCode } from '../errors.js';
import { isDataUri, parseDataUri } from './data-uri.js';
import { type FetchOptions, fetchImage, parseAddress } from './fetch-image.js';
import type { ImageType } from './formats.js';
import { fileTooLarge, ImageError } from './image-error.js';
import type { ImageSource } from './image-sources.js';
import { MAX_DOWNLOADS, MAX_FILE_BYTES, MAX_IMAGES, MAX_TOTAL_FILE_BYTES, MAX_TOTAL_PIXELS, MIB } from './limits.js';
import { type Loading, LoadingRoom } from './loading-room.js';
import { validateImage } from './validate-image.js';
import { webpToPng } from './webp-to-png.js';

export interface LoadImagesOptions extends Pick<FetchOptions, 'hosts' | 'resolve' | 'timeoutMs'> {
  /** Aborts all downloads. */
  signal?: AbortSignal | undefined;
  /** Requests that share limits; default: all of this process. */
  room?: LoadingRoom;
}

/** A PNG, JPEG, GIF or BMP file with a valid header, or an audio file of any content; not decoded yet. */
export type LoadedImage = { bytes: Uint8Array } | { audio: Uint8Array };

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
  for (const [index, source] of sources.entries()) {
    const { from, kind } = source;
    await named(source, async () => {
      if (typeof from === 'function') files[index] = total.add(from(), kind);
      else if (typeof from !== 'string') files[index] = total.add(from, kind);
      else if (isDataUri(from)) files[index] = total.add(parseDataUri(from), kind);
      else downloads.push({ index, source, url: parseAddress(from) });
    });
  }
  if (downloads.length === 0 && files.every(({ type }) => type !== 'image/webp')) {
    return files.map(({ type, bytes }) => (type === 'audio' ? { audio: bytes } : { bytes }));
  }
  const { room = LoadingRoom.ofAll } = options;
  return room.enter(options.signal, async (loading) => {
    const { signal } = loading;
    const onBytes = (bytes: number) => room.hold(loading, bytes);
    await downloadAll(downloads, loading, room, (download) =>
      named(download.source, async () => {
        const { kind } = download.source;
        const accept = `${kind ?? 'image'}/*`;
        const bytes = await fetchImage(download.url, { ...options, signal, onBytes, accept });
        files[download.index] = total.add(bytes, kind);
      }),
    );
    const images: LoadedImage[] = [];
    for (const [index, source] of sources.entries()) {
      await named(source, async () => {
        images.push(await toReadable(files[index] as ValidFile, signal));
      });
    }
    return images;
  });
}

interface ValidFile {
  bytes: Uint8Array;
  type: ImageType | 'audio';
}

async function toReadable({ bytes, type }: ValidFile, signal: AbortSignal): Promise<LoadedImage> {
  if (type === 'audio') return { audio: bytes };
  return { bytes: type === 'image/webp' ? await webpToPng(bytes, signal) : bytes };
}

interface Download {
  index: number;
  source: ImageSource;
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

  /** The engine validates audio. */
  add(bytes: Uint8Array, kind: ImageSource['kind']): ValidFile {
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_TOTAL_FILE_BYTES) {
      throw tooLargeTogether(`${MAX_TOTAL_FILE_BYTES / MIB} MiB`);
    }
    if (kind === 'audio') {
      if (bytes.length > MAX_FILE_BYTES) throw fileTooLarge();
      return { bytes, type: 'audio' };
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
    `makes the files of this request exceed ${limit} together: send smaller ones.`,
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

async function named({ param, kind }: ImageSource, load: () => Promise<void>): Promise<void> {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    const code = error.code.replace('image', kind ?? 'image') as ErrorCode;
    const named = new ChasquiError(code, `The ${kind ?? 'image'} at \`${param}\` ${error.predicate}`, param);
    named.option = error.option;
    throw named;
  }
}
