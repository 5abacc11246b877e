/** What a name means at the hub, and whether it can be downloaded, found out before the first byte of it is. */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { checkArchitecture } from './architectures.js';
import { readArchitecture } from './gguf-header.js';
import type { HubCache } from './hub-cache.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-types.js';
import { inWords } from './in-words.js';
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
  /** Download a model of a kind that this llama.cpp does not know. */
  anyArchitecture?: boolean | undefined;
}

/** @throws {ChasquiError} what is against it: the name, access to the model, its kind. */
export async function planDownload(client: HubClient, name: string, options: PlanOptions = {}): Promise<DownloadPlan> {
  const { signal, anyArchitecture = false } = options;
  const { repo, tag } = parseModelName(name);
  const model = await client.model(repo, signal);
  const chosen = chooseQuantisation(model.quantisations, tag);
  // Checked before access, which a model that cannot be used needs not be asked for.
  if (!anyArchitecture && model.architecture !== null) checkArchitecture(model.architecture, repo);
  const files = [...chosen.files, ...(chosen.projector ? [chosen.projector] : [])];
  await checkAccess(client, repo, model.commit, files[0] as HubFile, signal);
  if (!anyArchitecture && model.architecture === null) {
    const own = await architectureIn(client, repo, model.commit, files[0] as HubFile, signal);
    if (own !== null) checkArchitecture(own, repo);
  }
  return { model: modelNameOf(repo, chosen), repo, commit: model.commit, files };
}

/** A gated model's lists are open to all; its files are not. */
async function checkAccess(client: HubClient, repo: string, commit: string, file: HubFile, signal?: AbortSignal) {
  const what = `the model ${repo}`;
  const headers = { range: 'bytes=0-3' };
  const url = client.fileUrl(repo, commit, file.path);
  try {
    const asked = { what, page: client.pageOf(repo), signal, headers, hubOnly: true };
    (await client.requests.open(url, asked)).body.on('error', () => {}).destroy();
  } catch (error) {
    // What may pass is for the download to wait for.
    if (
      !(error instanceof ChasquiError) ||
      !['hub_unreachable', 'hub_failed', 'hub_rate_limited'].includes(error.code)
    ) {
      throw error;
    }
  }
}

/** Not every hub says it of a model; its file does, in its first bytes. `null` where they cannot be had now. */
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

/** Given a folder, the bytes that may still be written to its disk. */
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
    `${model} needs ${inWords(neededBytes)} more on the disk of ${cache.folder}, where ${inWords(free)} are free: free ${inWords(neededBytes - free)}, or choose a smaller quantisation.`,
    'model',
  );
}

/** For this account; the folder may not be there yet. */
export async function freeDiskBytes(folder: string): Promise<number> {
  let existing = path.resolve(folder);
  while (!fs.existsSync(existing) && path.dirname(existing) !== existing) existing = path.dirname(existing);
  const { bavail, bsize } = await fs.promises.statfs(existing);
  return bavail * bsize;
}
