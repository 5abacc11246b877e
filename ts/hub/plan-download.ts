/** Resolves a model name at the hub, and checks before the first byte whether it can be downloaded. */
import fs from 'node:fs';
import path from 'node:path';
import { readArchitecture } from '../engine/gguf-header.js';
import { ChasquiError } from '../errors.js';
import { checkArchitecture } from './architectures.js';
import { formatBytes } from './format-bytes.js';
import type { HubCache } from './hub-cache.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-types.js';
import { chooseQuantisation, modelNameOf, parseModelName } from './model-name.js';

const HEAD_BYTES = 64 * 1024;
const HEAD_TIMEOUT_MS = 5000;

export interface DownloadPlan {
  /** `user/repo:QUANT` */
  model: string;
  repo: string;
  commit: string;
  /** The parts in order, then the projector. */
  files: HubFile[];
}

export interface PlanOptions {
  signal?: AbortSignal | undefined;
  /** Download architectures that this llama.cpp does not support. */
  anyArchitecture?: boolean | undefined;
}

/** @throws {ChasquiError} for an invalid name, missing access or an unsupported architecture. */
export async function planDownload(client: HubClient, name: string, options: PlanOptions = {}): Promise<DownloadPlan> {
  const { signal, anyArchitecture = false } = options;
  const { repo, tag } = parseModelName(name);
  const model = await client.model(repo, signal);
  const chosen = chooseQuantisation(model.quantisations, tag);
  // Before access: no one should request access to an unusable model.
  if (!anyArchitecture && model.architecture !== null) checkArchitecture(model.architecture, repo);
  const files = [...chosen.files, ...(chosen.projector ? [chosen.projector] : [])];
  await checkAccess(client, repo, model.commit, files[0] as HubFile, signal);
  if (!anyArchitecture && model.architecture === null) {
    const own = await architectureIn(client, repo, model.commit, files[0] as HubFile, signal);
    if (own !== null) checkArchitecture(own, repo);
  }
  return { model: modelNameOf(repo, chosen), repo, commit: model.commit, files };
}

/** The file lists of gated models are public; their files are not. */
async function checkAccess(client: HubClient, repo: string, commit: string, file: HubFile, signal?: AbortSignal) {
  const what = `the model ${repo}`;
  const headers = { range: 'bytes=0-3' };
  const url = client.fileUrl(repo, commit, file.path);
  try {
    const asked = { what, page: client.pageOf(repo), signal, headers, hubOnly: true };
    (await client.requests.open(url, asked)).body.on('error', () => {}).destroy();
  } catch (error) {
    // The download itself retries temporary errors.
    if (
      !(error instanceof ChasquiError) ||
      !['hub_unreachable', 'hub_failed', 'hub_rate_limited'].includes(error.code)
    ) {
      throw error;
    }
  }
}

/** Reads the architecture from the file if the hub does not report it. Returns `null` if it is unavailable now. */
async function architectureIn(client: HubClient, repo: string, commit: string, file: HubFile, signal?: AbortSignal) {
  const length = Math.min(HEAD_BYTES, file.sizeBytes);
  const url = client.fileUrl(repo, commit, file.path);
  const headers = { range: `bytes=0-${length - 1}` };
  const asked = { what: `the file ${file.path} of ${repo}`, signal, headers, idleTimeoutMs: HEAD_TIMEOUT_MS };
  try {
    const head = await client.requests.range(url, length, asked);
    return head && (await readArchitecture(async (start, wanted) => head.subarray(start, start + wanted)));
  } catch {
    signal?.throwIfAborted();
    return null;
  }
}

/** Returns the free bytes on the disk of a folder. */
export type FreeBytes = (folder: string) => Promise<number>;

/** @throws {ChasquiError} `no_space` */
export async function checkSpace(
  cache: HubCache,
  neededBytes: number,
  freeBytes: FreeBytes,
  model: string,
): Promise<void> {
  if (neededBytes <= 0) return;
  const free = await freeBytes(cache.folder);
  if (neededBytes <= free) return;
  throw new ChasquiError(
    'no_space',
    `Not enough space on the disk of ${cache.folder}: ${model} needs ${formatBytes(neededBytes)} more, ${formatBytes(free)} are free. Free ${formatBytes(neededBytes - free)}, or choose a smaller quantisation.`,
    'model',
  );
}

/** Free bytes for this account. The folder need not exist yet. */
export async function freeDiskBytes(folder: string): Promise<number> {
  let existing = path.resolve(folder);
  while (!fs.existsSync(existing) && path.dirname(existing) !== existing) existing = path.dirname(existing);
  const { bavail, bsize } = await fs.promises.statfs(existing);
  return bavail * bsize;
}
