/** Downloads that were stopped: their bytes in the Hugging Face cache folder. */
import fs from 'node:fs';
import { ChasquiError } from '../errors.js';
import { removeEmptyRepo, removeOrphans, reposIn, usedBlobs } from './find-in-cache.js';
import { entriesOf, sizeOf } from './find-in-folders.js';
import { HubCache } from './hub-cache.js';
import { PART_SUFFIX, PartFile } from './part-file.js';
import { isSha256 } from './read-hub-replies.js';

/** All unfinished files of a repository. They have no names before their model is complete. */
export interface UnfinishedDownload {
  repo: string;
  bytes: number;
  totalBytes: number;
}

interface Leftovers {
  /** Digests of files that are partly there. */
  parts: string[];
  /** Digests of complete files. Other files of their models are missing. */
  unlinked: string[];
}

export function findUnfinished(cacheFolder: string): UnfinishedDownload[] {
  const cache = new HubCache(cacheFolder);
  return reposIn(cacheFolder).flatMap((repo) => {
    const { parts, unlinked } = leftoversOf(cache, repo);
    const sizes = [
      ...parts.map((digest) => PartFile.progressOf(cache.blob(repo, digest + PART_SUFFIX))),
      ...unlinked.map((digest) => sizeOf(cache.blob(repo, digest)) ?? 0).map((bytes) => ({ bytes, totalBytes: bytes })),
    ];
    if (sizes.length === 0) return [];
    const sum = (name: 'bytes' | 'totalBytes') => sizes.reduce((total, size) => total + size[name], 0);
    return [{ repo, bytes: sum('bytes'), totalBytes: sum('totalBytes') }];
  });
}

/**
 * Deletes the unfinished files of a repository. Returns the bytes that were present.
 * @throws {ChasquiError} `download_in_use`: a process downloads one of them
 */
export async function removeUnfinished(cacheFolder: string, repo: string): Promise<number> {
  const cache = new HubCache(cacheFolder);
  const { parts, unlinked } = leftoversOf(cache, repo);
  // Lazy import: this module loads SQLite.
  const { ProcessLock } = await import('./process-lock.js');
  const locks = [...parts, ...unlinked].map((digest) => ProcessLock.tryTake(cache.lock(repo, digest)));
  try {
    if (locks.includes(null))
      throw new ChasquiError('download_in_use', `${repo} is being downloaded. Stop the download first.`, 'model');
    let freed = removeOrphans(cache, repo, new Set(unlinked));
    for (const digest of parts) {
      const file = cache.blob(repo, digest + PART_SUFFIX);
      freed += PartFile.progressOf(file).bytes;
      PartFile.remove(file);
    }
    removeEmptyRepo(cache, repo);
    return freed;
  } finally {
    for (const lock of locks) lock?.release();
  }
}

function leftoversOf(cache: HubCache, repo: string): Leftovers {
  const names = entriesOf(cache.blob(repo, '')).map(({ name }) => name);
  const used = usedBlobs(cache, repo);
  // On systems without symbolic links, snapshots have hard links.
  const isUnlinked = (name: string) => isSha256(name) && !used.has(name) && linksOf(cache.blob(repo, name)) === 1;
  return {
    parts: names.filter((name) => name.endsWith(PART_SUFFIX)).map((name) => name.slice(0, -PART_SUFFIX.length)),
    unlinked: names.filter(isUnlinked),
  };
}

function linksOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
}
