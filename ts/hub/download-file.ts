/** Downloads one file of a model into the hub cache. It gets its final name only after its digest was verified. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { isOutOfFiles, outOfFiles } from '../process/open-files.js';
import { fillPart, type TransferSettings } from './download-ranges.js';
import type { HubCache } from './hub-cache.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-types.js';
import { PART_SUFFIX, type PartContent, PartFile } from './part-file.js';
import { ProcessLock } from './process-lock.js';

const HASH_BYTES = 2 ** 20;

export interface DownloadSettings extends TransferSettings {
  /** Ranges of one file that are fetched in parallel. */
  ranges: number;
  /** Smaller ranges are not worth a connection. */
  minRangeBytes: number;
}

export interface FileDownload {
  client: HubClient;
  cache: HubCache;
  repo: string;
  commit: string;
  file: HubFile;
  settings: DownloadSettings;
  signal: AbortSignal;
  /** Called with the number of bytes on the disk. */
  onBytes(bytes: number): void;
  onTrouble(error: ChasquiError | null): void;
  onVerify(): void;
}

/** Returns the path of the verified blob. */
export async function downloadFile(download: FileDownload): Promise<string> {
  const { cache, repo, file, signal, onBytes } = download;
  const content = contentOf(download);
  const part = partFileOf(cache, repo, content);
  const waiting = () => onBytes(PartFile.bytesIn(part, content));
  const lock = await ProcessLock.take(cache.lock(repo, content.digest), signal, waiting);
  try {
    const there = cache.findBlob(repo, file);
    if (there !== null) PartFile.remove(part);
    return there ?? (await fetchFile(part, content, download));
  } catch (error) {
    throw ofDisk(error, file.path);
  } finally {
    lock.release();
  }
}

/** Without a digest from the hub, the content is identified by its location. */
export function contentOf({ repo, commit, file }: { repo: string; commit: string; file: HubFile }): PartContent {
  const { sizeBytes, sha256, path: name } = file;
  const place = () => createHash('sha256').update(`${repo}\0${commit}\0${name}\0${sizeBytes}`).digest('hex');
  return { sizeBytes, digest: sha256 ?? `at-${place()}` };
}

export function partFileOf(cache: HubCache, repo: string, { digest }: PartContent): string {
  return cache.blob(repo, digest + PART_SUFFIX);
}

/**
 * Bytes of an earlier process may be wrong, for example after a power failure. If resumed content does not match its
 * digest, the whole file is fetched again, once.
 */
async function fetchFile(part: string, content: PartContent, download: FileDownload): Promise<string> {
  const { settings } = download;
  const fitting = Math.floor(content.sizeBytes / settings.minRangeBytes);
  const opened = await PartFile.open(part, content, Math.max(1, Math.min(settings.ranges, fitting)));
  try {
    const { resumed } = opened;
    let digest = await fetchAndVerify(opened, download);
    if (resumed && isWrong(digest, download)) {
      await opened.restart(opened.ranges.length);
      digest = await fetchAndVerify(opened, download);
    }
    await opened.close();
    if (isWrong(digest, download)) throw wrongDigest(part, download);
    return keep(part, digest, download);
  } finally {
    await opened.close();
  }
}

async function fetchAndVerify(part: PartFile, download: FileDownload): Promise<string> {
  const { client, repo, commit, file, settings, signal, onBytes, onTrouble, onVerify } = download;
  onBytes(part.bytes);
  await fillPart(part, {
    requests: client.requests,
    url: client.fileUrl(repo, commit, file.path),
    sizeBytes: file.sizeBytes,
    what: `the file ${file.path} of ${repo}`,
    page: client.pageOf(repo),
    settings,
    signal,
    onBytes: () => onBytes(part.bytes),
    onTrouble,
  });
  onVerify();
  await part.flush();
  return digestOf(part.path, signal);
}

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const opened = await fs.promises.open(file, 'r');
  try {
    const buffer = Buffer.allocUnsafe(HASH_BYTES);
    for (;;) {
      const { bytesRead } = await opened.read(buffer, 0, HASH_BYTES);
      signal.throwIfAborted();
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await opened.close();
  }
}

function isWrong(digest: string, { file }: FileDownload): boolean {
  return file.sha256 !== null && file.sha256 !== digest;
}

function wrongDigest(part: string, { file }: FileDownload): ChasquiError {
  PartFile.remove(part);
  return new ChasquiError(
    'wrong_digest',
    `The SHA-256 of ${file.path} does not match the one the hub announced. The file was deleted; try again.`,
  );
}

async function keep(part: string, digest: string, { cache, repo }: FileDownload): Promise<string> {
  const blob = cache.blob(repo, digest);
  await fs.promises.rename(part, blob);
  PartFile.remove(part);
  await flushFolder(path.dirname(blob));
  return blob;
}

/** Makes the name survive a power failure. Best effort: some systems cannot sync folders. */
export async function flushFolder(folder: string): Promise<void> {
  const opened = await fs.promises.open(folder, 'r').catch(() => null);
  await opened?.sync().catch(() => undefined);
  await opened?.close();
}

/** Maps file system errors of writing `name` to `ChasquiError`. */
export function ofDisk(error: unknown, name: string): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (error instanceof ChasquiError || (syscall === undefined && code !== 'ENOSPC')) return error;
  if (isOutOfFiles(error)) return outOfFiles(`${name} cannot be written`, error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ChasquiError('no_space', `${name} cannot be written: the disk is full. Free some space and resume.`);
  }
  return new ChasquiError('download_failed', `${name} cannot be written: ${message}.`, null, { cause: error });
}
