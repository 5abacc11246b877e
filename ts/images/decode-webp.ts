import { Worker } from 'node:worker_threads';
import { ImageFault } from './image-fault.js';

export interface Pixels {
  width: number;
  height: number;
  /** Three bytes per pixel, rows from the top. */
  rgb: Uint8Array;
}

/** A picture of the largest size takes a second or two. */
const LIMIT_MS = 30_000;

/**
 * Each picture gets a thread and a WebAssembly memory of its own, which end with it: what a broken file does to the
 * decoder reaches no other picture, and no memory is kept. Aborting ends the thread.
 */
export function decodeWebp(bytes: Uint8Array, signal?: AbortSignal): Promise<Pixels> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    // A Buffer's own slice would share, and transfer away, what others have.
    const file = new Uint8Array(bytes);
    const options = { workerData: file, transferList: [file.buffer], stderr: true };
    const worker = new Worker(new URL('./webp-worker.mjs', import.meta.url), options);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      worker.removeAllListeners();
      worker.terminate();
      settle();
    };
    const fail = () => end(() => reject(new ImageFault('invalid_image', 'is a damaged WebP picture.')));
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(fail, LIMIT_MS);
    signal?.addEventListener('abort', onAbort);
    worker.once('message', (pixels: Pixels) => end(() => resolve(pixels)));
    worker.once('error', fail);
    worker.once('exit', fail);
  });
}
