/**
 * WebP, which the engine does not read, as PNG, which it does. As a file and not as pixels, because a queue of jobs may
 * hold many pictures, and a WebP file of a hundred bytes can be one of 150 MB.
 */
import { Worker } from 'node:worker_threads';
import { ImageFault } from './image-fault.js';

/** A picture of the largest size takes a few seconds. */
const LIMIT_MS = 30_000;

/**
 * One at a time, in the order of the calls. Each picture gets a thread and a WebAssembly memory of its own, which end
 * with it: what a broken file does to the decoder reaches no other picture, and no memory is kept.
 * Rejects with an `ImageFault` (`invalid_image`), or with the signal's reason.
 */
export function webpToPng(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
  const turn = last.then(() => convert(bytes, signal));
  last = turn.catch(() => undefined);
  return turn;
}

let last: Promise<unknown> = Promise.resolve();

function convert(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    // A Buffer's own slice would share, and transfer away, what others have.
    const file = new Uint8Array(bytes);
    const options = { workerData: file, transferList: [file.buffer], execArgv: [], stderr: true };
    const worker = new Worker(new URL('./webp-worker.mjs', import.meta.url), options);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      worker.removeAllListeners();
      worker.terminate().then(settle, settle);
    };
    const fail = () => end(() => reject(new ImageFault('invalid_image', 'is a damaged WebP picture.')));
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(fail, LIMIT_MS);
    signal?.addEventListener('abort', onAbort);
    worker.once('message', (png: Uint8Array) => end(() => resolve(png)));
    worker.once('error', fail);
    worker.once('exit', fail);
  });
}
