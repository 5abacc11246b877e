/**
 * Converts WebP, which the engine does not read, to PNG. The result is not decoded, because a queue of jobs may hold many
 * images, and a WebP file of a hundred bytes can decode to 150 MB.
 */
import { Worker } from 'node:worker_threads';
import { ImageError } from './image-error.js';
import { Turns } from './turns.js';

/** An image of the largest size takes a few seconds. */
const LIMIT_MS = 30_000;

/**
 * Converts one image at a time, in the order of the calls. Requests take turns, because each calls for its next image after the
 * previous one. Each image gets a new thread and WebAssembly memory, so that a broken file affects no other image and no
 * memory is kept. Rejects with an `ImageError` (`invalid_image`), or with the signal's reason.
 */
export function webpToPng(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
  return turns.run({}, signal, () => convert(bytes, signal));
}

const turns = new Turns(1);

function convert(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    // Copied, because the transfer would detach memory that a slice shares.
    const file = new Uint8Array(bytes);
    const options = { workerData: file, transferList: [file.buffer], execArgv: [], stderr: true };
    const worker = new Worker(new URL('./webp-worker.mjs', import.meta.url), options);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      worker.removeAllListeners();
      worker.terminate().then(settle, settle);
    };
    const fail = () => end(() => reject(new ImageError('invalid_image', 'is a damaged WebP image.')));
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(fail, LIMIT_MS);
    signal?.addEventListener('abort', onAbort);
    worker.once('message', (png: Uint8Array) => end(() => resolve(png)));
    worker.once('error', fail);
    worker.once('exit', fail);
  });
}
