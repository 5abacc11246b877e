/** A download as it is kept, and as it is told of. */
import { contentOf } from './download-file.js';
import type { DownloadState, StoredDownload } from './download-store.js';
import type { SpeedMeter } from './speed-meter.js';

export interface DownloadJob {
  id: string;
  /** `user/repo:QUANT` */
  model: string;
  state: DownloadState;
  totalBytes: number;
  downloadedBytes: number;
  /** Of the last seconds; `null` where nothing is coming. */
  bytesPerSecond: number | null;
  secondsLeft: number | null;
  /** Why it failed; while it is downloading, what is just being tried again. */
  error: { code: string; message: string } | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  finishedAt: number | null;
  /** The model's first file, once all are there. */
  path: string | null;
}

export interface DownloadFile {
  path: string;
  /** SHA-256 as the hub announces it; without one, what the file is known by. */
  digest: string;
  totalBytes: number;
  downloadedBytes: number;
}

export interface Job {
  stored: StoredDownload;
  /** Of each file, how many bytes are there. */
  fileBytes: number[];
  meter: SpeedMeter;
  /** Of a job that is being downloaded. */
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
