/**
 * Sparse copies of models at the hub: the header of each file, followed by a hole in place of the weights. They take
 * megabytes to download and on the disk, and llama.cpp can compute the memory needs of the model from them.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readGgufHeader } from '../engine/gguf-header.js';
import { ChasquiError } from '../errors.js';
import type { HubClient } from './hub-client.js';
import type { HubFile, Quantisation } from './hub-types.js';
import { ProcessLock } from './process-lock.js';

const PIECE_BYTES = 2 * 2 ** 20;
const PREFIX = 'chasqui-fit-';
/** A new folder is not locked for a moment. */
const GRACE_MS = 60_000;

export interface SparseModel {
  path: string;
  projector: string | null;
  remove(): void;
}

export async function makeSparseCopy(
  client: HubClient,
  { repo, commit, quantisation }: { repo: string; commit: string; quantisation: Quantisation },
  signal?: AbortSignal,
): Promise<SparseModel> {
  const { path: folder, remove } = makeSparseFolder();
  try {
    const write = async (file: HubFile) => {
      const target = path.join(folder, path.posix.basename(file.path));
      const head = await fetchHead(client, repo, commit, file, signal);
      fs.writeFileSync(target, head);
      fs.truncateSync(target, file.sizeBytes);
      return target;
    };
    // llama.cpp finds the other parts by their names.
    const files: string[] = [];
    for (const file of quantisation.files) files.push(await write(file));
    const projector = quantisation.projector && (await write(quantisation.projector));
    return { path: files[0] as string, projector, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Downloads the bytes before the weights. */
async function fetchHead(client: HubClient, repo: string, commit: string, file: HubFile, signal?: AbortSignal) {
  let head = Buffer.alloc(0);
  const url = client.fileUrl(repo, commit, file.path);
  const fetchTo = async (end: number) => {
    while (head.length < Math.min(end, file.sizeBytes)) {
      const last = Math.min(Math.max(end, head.length + PIECE_BYTES), file.sizeBytes) - 1;
      const range = { start: head.length, last };
      head = Buffer.concat([head, await fetchRange(client, url, range, `the file ${file.path} of ${repo}`, signal)]);
    }
  };
  const { dataOffset } = await readGgufHeader(async (start, length) => {
    await fetchTo(start + length);
    return head.subarray(start, start + length);
  });
  await fetchTo(dataOffset);
  return head.subarray(0, Math.min(dataOffset, file.sizeBytes));
}

async function fetchRange(
  client: HubClient,
  url: URL,
  { start, last }: { start: number; last: number },
  what: string,
  signal?: AbortSignal,
): Promise<Buffer> {
  const headers = { range: `bytes=${start}-${last}` };
  const bytes = await client.requests.range(url, last + 1 - start, { what, signal, headers });
  if (bytes !== null) return bytes;
  throw new ChasquiError(
    'fit_unknown',
    `The memory needs of ${what} are unknown before the download: the hub does not support ranges.`,
  );
}

export interface SparseFolder {
  path: string;
  remove(): void;
}

/** Makes a locked temporary folder. Also removes those of killed processes. */
export function makeSparseFolder(): SparseFolder {
  removeStaleFolders();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), PREFIX));
  const lock = ProcessLock.tryTake(lockIn(folder));
  return {
    path: folder,
    remove: () => {
      lock?.release();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes the folders of killed processes. Never throws. */
export function removeStaleFolders(): void {
  for (const name of namesIn(os.tmpdir())) if (name.startsWith(PREFIX)) removeIfStale(path.join(os.tmpdir(), name));
}

/** Skips folders of other accounts. */
function removeIfStale(folder: string): void {
  try {
    const stat = fs.lstatSync(folder);
    const isOwn = stat.isDirectory() && (process.getuid === undefined || stat.uid === process.getuid());
    if (!isOwn || Date.now() - stat.mtimeMs < GRACE_MS) return;
    const lock = ProcessLock.tryTake(lockIn(folder));
    if (lock === null) return;
    lock.release();
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another process may be removing it.
  }
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function lockIn(folder: string): string {
  return path.join(folder, 'lock');
}
