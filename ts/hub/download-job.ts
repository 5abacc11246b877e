/** A download: the internal job and its public form. */
import { contentOf } from './download-file.js';
import type { StoredDownload } from './download-store.js';

export interface DownloadJob extends Pick<StoredDownload, 'id' | 'model' | 'state' | 'startedAt' | 'finishedAt'> {
  totalBytes: number;
  downloadedBytes: number;
  /** Average of the last seconds; `null` unless bytes are arriving. */
  bytesPerSecond: number | null;
  secondsLeft: number | null;
  /** Why it failed. While downloading: the error that caused the current retry. */
  error: { code: string; message: string } | null;
  /** Path of the model's first file once the download is complete. */
  path: string | null;
}

export interface DownloadFile {
  path: string;
  /** SHA-256 from the hub, or a digest of the file's location if the hub has none. */
  digest: string;
  totalBytes: number;
  downloadedBytes: number;
}

export interface Job {
  stored: StoredDownload;
  fileBytes: number[];
  meter: SpeedMeter;
  running: { stop: AbortController; ended: Promise<void> } | null;
  toldAt: number;
}

export function toJob({ stored, fileBytes, meter }: Job): DownloadJob {
  const { id, model, state, error, startedAt, finishedAt, path, files } = stored;
  const totalBytes = sum(files.map(({ sizeBytes }) => sizeBytes));
  const downloadedBytes = sum(fileBytes);
  const speed = state === 'downloading' ? meter.bytesPerSecond() : null;
  const secondsLeft = speed === null || speed === 0 ? null : Math.ceil((totalBytes - downloadedBytes) / speed);
  return {
    id,
    model,
    state,
    totalBytes,
    downloadedBytes,
    bytesPerSecond: speed,
    secondsLeft,
    error,
    startedAt,
    finishedAt,
    path,
  };
}

export function toFiles({ stored, fileBytes }: Job): DownloadFile[] {
  return stored.files.map((file, index) => ({
    path: file.path,
    digest: contentOf({ ...stored, file }).digest.replace(/^at-/, ''),
    totalBytes: file.sizeBytes,
    downloadedBytes: fileBytes[index] ?? 0,
  }));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

const WINDOW_MS = 5000;
const MIN_SPAN_MS = 500;
const MIN_GAP_MS = 100;

/** Measures the throughput of the last seconds. */
export class SpeedMeter {
  #samples: { at: number; bytes: number }[] = [];

  begin(bytes: number): void {
    this.#samples = [{ at: performance.now(), bytes }];
  }

  add(bytes: number): void {
    const at = performance.now();
    const last = this.#samples.at(-1);
    // Fewer bytes: a range was restarted.
    if (last === undefined || bytes < last.bytes) this.begin(bytes);
    else if (at - last.at < MIN_GAP_MS && this.#samples.length > 1)
      this.#samples[this.#samples.length - 1] = { at: last.at, bytes };
    else this.#samples.push({ at, bytes });
    while (at - (this.#samples[1]?.at ?? at) > WINDOW_MS) this.#samples.shift();
  }

  end(): void {
    this.#samples = [];
  }

  /** Returns `null` until there are enough samples. */
  bytesPerSecond(): number | null {
    const [first] = this.#samples;
    const span = performance.now() - (first?.at ?? Number.POSITIVE_INFINITY);
    if (first === undefined || span < MIN_SPAN_MS) return null;
    return Math.round((((this.#samples.at(-1)?.bytes ?? 0) - first.bytes) / span) * 1000);
  }
}
