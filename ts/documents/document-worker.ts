/** Reads the text of PDF and Word files. Each file gets a thread of its own, so a broken or hostile file affects no other request. */
import { Worker } from 'node:worker_threads';
import { Turns } from '../images/turns.js';

const MAX_PAGES = 1000;
/** A thousand pages take a few seconds. */
const LIMIT_MS = 20_000;
/** Growth of the process while a file is read. A stream of a few kilobytes can expand to gigabytes. */
const MAX_GROWTH = 2 ** 29;
const WATCH_MS = 100;

export interface DocumentText {
  text: string;
  /** False if the text was truncated. */
  isWhole: boolean;
}

const turns = new Turns(2);

export type DocumentType = 'pdf' | 'docx';

/** Returns null for files that are damaged, encrypted or exceed a limit. Rejects with the signal's reason. */
export function documentToText(
  type: DocumentType,
  bytes: Uint8Array,
  maxCharacters: number,
  signal?: AbortSignal,
): Promise<DocumentText | null> {
  return turns.run({}, signal, () => read(type, bytes, maxCharacters, signal));
}

function read(
  type: DocumentType,
  bytes: Uint8Array,
  maxCharacters: number,
  signal?: AbortSignal,
): Promise<DocumentText | null> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    // Copied, because the transfer would detach memory that a slice shares.
    const data = new Uint8Array(bytes);
    const worker = new Worker(new URL(`./${type}-worker.mjs`, import.meta.url), {
      workerData: { data, maxPages: MAX_PAGES, maxCharacters },
      transferList: [data.buffer],
      execArgv: [],
      // Warnings about the file.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    const before = process.memoryUsage.rss();
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      clearInterval(watch);
      signal?.removeEventListener('abort', onAbort);
      worker.removeAllListeners();
      // An error of the ending thread must not end the process.
      worker.on('error', () => {});
      worker.terminate().then(settle, settle);
    };
    const fail = () => end(() => resolve(null));
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(fail, LIMIT_MS);
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > MAX_GROWTH) fail();
    }, WATCH_MS);
    signal?.addEventListener('abort', onAbort);
    worker.once('message', (found: DocumentText) => end(() => resolve(found)));
    worker.once('error', fail);
    worker.once('exit', fail);
  });
}
