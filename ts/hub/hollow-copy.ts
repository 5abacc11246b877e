/**
 * Files as large as those of a model at the hub, with what stands in front of the weights and a hole in the weights'
 * place. They take megabytes to fetch and on the disk, and llama.cpp can work out from them what the model takes.
 */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { readGgufHeader } from './gguf-header.js';
import { makeHollowFolder } from './hollow-folders.js';
import type { HubClient } from './hub-client.js';
import type { HubFile, Quantisation } from './hub-types.js';

const PIECE_BYTES = 2 * 2 ** 20;

export interface HollowModel {
  path: string;
  projector: string | null;
  remove(): void;
}

export async function hollowCopy(
  client: HubClient,
  { repo, commit, quantisation }: { repo: string; commit: string; quantisation: Quantisation },
  signal?: AbortSignal,
): Promise<HollowModel> {
  const { path: folder, remove } = makeHollowFolder();
  try {
    const write = async (file: HubFile) => {
      const target = path.join(folder, path.posix.basename(file.path));
      const head = await fetchHead(client, repo, commit, file, signal);
      fs.writeFileSync(target, head);
      fs.truncateSync(target, file.sizeBytes);
      return target;
    };
    // The parts after one another: their names say to llama.cpp that they belong together.
    const files: string[] = [];
    for (const file of quantisation.files) files.push(await write(file));
    const projector = quantisation.projector && (await write(quantisation.projector));
    return { path: files[0] as string, projector, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The bytes in front of the weights. */
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
    `What ${what} takes cannot be told before it is downloaded: the hub sends no parts.`,
  );
}
