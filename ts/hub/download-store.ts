/** The persistent list of downloads. One process at a time has it open. */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { isRepoName } from './model-name.js';
import type { DownloadPlan } from './plan-download.js';
import { ProcessLock } from './process-lock.js';
import { isCommit, isSafePath, isSha256, toArray, toCount, toObject, toText } from './read-hub-replies.js';

export const STATES = ['queued', 'downloading', 'paused', 'verifying', 'completed', 'failed', 'cancelled'] as const;
export type DownloadState = (typeof STATES)[number];

export interface StoredDownload extends DownloadPlan {
  id: string;
  state: DownloadState;
  error: { code: string; message: string } | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  finishedAt: number | null;
  path: string | null;
}

const MAX_FILE_BYTES = 16 * 2 ** 20;
const MAX_JOBS = 500;
const MAX_FILES = 1000;

export class DownloadStore {
  private constructor(
    private readonly file: string,
    private readonly lock: ProcessLock,
  ) {}

  /** @throws {ChasquiError} `download_in_use` */
  static open(folder: string): DownloadStore {
    fs.mkdirSync(folder, { recursive: true });
    const lock = ProcessLock.tryTake(path.join(folder, 'lock'));
    if (lock === null) {
      throw new ChasquiError(
        'download_in_use',
        `Another chasqui process has the list of downloads in ${folder} open. Use that process, or stop it first.`,
      );
    }
    return new DownloadStore(path.join(folder, 'downloads.json'), lock);
  }

  /** Skips invalid entries. Their part files are found again when the model is downloaded again. */
  read(): StoredDownload[] {
    try {
      if (fs.statSync(this.file).size > MAX_FILE_BYTES) return [];
      const { downloads } = toObject(JSON.parse(fs.readFileSync(this.file, 'utf8')));
      return toArray(downloads, MAX_JOBS)
        .map(toDownload)
        .filter((each) => each !== null);
    } catch {
      return [];
    }
  }

  /** Drops the oldest entries above the limit. */
  write(downloads: readonly StoredDownload[]): void {
    const unfinished = `${this.file}.new`;
    const file = fs.openSync(unfinished, 'w', 0o600);
    try {
      fs.writeSync(file, JSON.stringify({ version: 1, downloads: downloads.slice(-MAX_JOBS) }));
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    fs.renameSync(unfinished, this.file);
  }

  close(): void {
    this.lock.release();
  }
}

function toDownload(value: unknown): StoredDownload | null {
  const { id, model, repo, commit, state, error, startedAt, finishedAt, path: file, files } = toObject(value);
  const known = STATES.find((each) => each === state);
  const plan = toArray(files, MAX_FILES).map(toFile);
  if (typeof id !== 'string' || typeof model !== 'string' || !isRepoName(repo) || !isCommit(commit)) return null;
  if (known === undefined || plan.length === 0 || plan.includes(null)) return null;
  const { code, message } = toObject(error);
  return {
    id,
    model,
    repo,
    commit,
    files: plan as DownloadPlan['files'],
    state: known,
    error: typeof code === 'string' && typeof message === 'string' ? { code, message } : null,
    startedAt: toCount(startedAt) ?? 0,
    finishedAt: toCount(finishedAt),
    path: toText(file, 4096),
  };
}

function toFile(value: unknown): DownloadPlan['files'][number] | null {
  const { path: name, sizeBytes, sha256 } = toObject(value);
  const size = toCount(sizeBytes);
  if (!isSafePath(name) || size === null || !(sha256 === null || isSha256(sha256))) return null;
  return { path: name, sizeBytes: size, sha256 };
}
