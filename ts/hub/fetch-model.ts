/** Downloads a GGUF file from a URL, once, and again if its file is truncated. */
import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isTruncatedGguf } from '../engine/gguf-header.js';
import { ChasquiError } from '../errors.js';
import { requestChecked } from '../images/get-checked.js';
import type { ImageHosts } from '../images/public-address.js';
import { NoAddress } from '../images/resolve-host.js';
import { VERSION } from '../version.js';
import { flushFolder } from './download-file.js';
import { BLOCK_BYTES } from './part-file.js';

const GGUF = Buffer.from('GGUF');
/** Interval in bytes between calls of `checkRoom`. */
const ROOM_STEP = 64 * 2 ** 20;
/** The limit of `fetch`. */
const MAX_REDIRECTS = 20;
const PUBLIC_ONLY = 'private network addresses require `allowPrivateModelHosts`';

export interface FetchModelOptions {
  /**
   * Called with a fraction and the file's length in bytes. Without a `content-length` the fraction is 0 and the length
   * is the number of bytes received so far.
   */
  onProgress?: (fraction: number, totalBytes: number) => void;
  /** Called at intervals with the number of bytes still expected; throws if they do not fit on the disk. */
  checkRoom?: (bytes: number) => void;
  /** Allowed addresses, as for images; default: any. */
  hosts?: ImageHosts;
  /** Aborts the download and removes the partial file. */
  signal?: AbortSignal;
}

/**
 * Returns the path of the file, in a subfolder of `folder` named after the URL, because many models share a file name.
 * @throws {ChasquiError} `model_fetch_failed`, or the signal's reason.
 */
export async function fetchModel(url: string, folder: string, options: FetchModelOptions = {}): Promise<string> {
  const file = fetchedFileOf(url, folder, options.hosts);
  if (fs.existsSync(file) && !(await isTruncatedGguf(file))) return file;
  const part = `${file}.${randomUUID()}.part`;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    await save(url, part, options);
    if (await isTruncatedGguf(part)) throw failed(url, 'the file lacks a part of its weights');
    fs.renameSync(part, file);
    await flushFolder(path.dirname(file));
    return file;
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error instanceof ChasquiError ? error : failed(url, reasonOf(error), error);
  } finally {
    if (fs.existsSync(part)) fs.rmSync(part);
  }
}

/**
 * Path of a fetched file. The host policy is part of the key, so a caller limited to public hosts cannot read a file
 * fetched from a private one.
 * @throws {ChasquiError} `model_fetch_failed` if the URL does not name a model.
 */
export function fetchedFileOf(url: string, folder: string, hosts: ImageHosts = 'any'): string {
  const key = hosts === 'any' ? url : `${hosts} ${url}`;
  return path.join(folder, createHash('sha256').update(key).digest('hex').slice(0, 16), fileName(url));
}

function fileName(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const name = parsed && path.posix.basename(parsed.pathname).replaceAll(/[^\w.-]/g, '_');
  if (!parsed || !name?.endsWith('.gguf') || !['http:', 'https:'].includes(parsed.protocol)) {
    throw failed(url, 'the URL must start with https:// or http:// and end in .gguf');
  }
  if (/-\d{5}-of-\d{5}\.gguf$/.test(name)) throw failed(url, 'split models must be downloaded by hand');
  return name;
}

async function save(url: string, part: string, options: FetchModelOptions): Promise<void> {
  const { onProgress, checkRoom, signal } = options;
  let expected = 0;
  let size = 0;
  let roomAskedAt = Number.NEGATIVE_INFINITY;
  const checked = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      if (size === 0 && !GGUF.subarray(0, chunk.length).equals(chunk.subarray(0, GGUF.length))) {
        throw failed(url, 'the reply is not a GGUF file');
      }
      size += chunk.length;
      if (size - roomAskedAt >= ROOM_STEP) {
        checkRoom?.(Math.max(0, expected - size));
        roomAskedAt = size;
      }
      onProgress?.(expected > 0 ? size / expected : 0, Math.max(expected, size));
      yield chunk;
    }
  };
  // Open the file here: a stream that opens it could create it after a failure, when nothing removes it.
  const file = await fs.promises.open(part, 'wx');
  try {
    const reply = await open(url, options);
    expected = reply.expected;
    // A file with this name is trusted later, so flush before the rename.
    const written = file.createWriteStream({ flush: true });
    await pipeline(reply.body, checked, inBlocks, written, { ...(signal && { signal }) });
  } finally {
    await file.close();
  }
  if (size < Math.max(expected, GGUF.length)) throw failed(url, `the reply ended after ${size} bytes`);
}

interface Reply {
  /** Announced length in bytes; 0 if unknown. */
  expected: number;
  body: Readable;
}

async function open(
  url: string,
  { hosts = 'any', signal = new AbortController().signal }: FetchModelOptions,
): Promise<Reply> {
  const headers = { 'accept-encoding': 'identity', 'user-agent': `chasqui/${VERSION}` };
  if (hosts === 'any') {
    const response = await fetch(url, { headers, signal });
    if (!response.ok || response.body === null) throw failed(url, `the server answered ${response.status}`);
    return { expected: Number(response.headers.get('content-length') ?? 0), body: Readable.fromWeb(response.body) };
  }
  const reply = await requestChecked(new URL(url), { hosts, headers, signal, maxRedirects: MAX_REDIRECTS }).catch(
    (error: Error) => {
      throw error instanceof NoAddress ? failed(url, `${error.message}; ${PUBLIC_ONLY}`, error) : error;
    },
  );
  if (reply.statusCode === 200) return { expected: Number(reply.headers['content-length'] ?? 0), body: reply };
  reply.destroy();
  throw failed(url, `the server answered ${reply.statusCode}`);
}

/** Regroups the bytes into file blocks. */
async function* inBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    for (let rest = chunk; rest.length > 0; ) {
      const wanted = rest.subarray(0, BLOCK_BYTES - bytes);
      rest = rest.subarray(wanted.length);
      gathered.push(wanted);
      bytes += wanted.length;
      if (bytes < BLOCK_BYTES) continue;
      yield Buffer.concat(gathered);
      gathered = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(gathered);
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message ? cause.message : message;
}

/** Omits the query of the URL, which may be a secret. */
function failed(url: string, reason: string, cause?: unknown): ChasquiError {
  const address = url.replace(/\?.*/s, '?…');
  return new ChasquiError('model_fetch_failed', `Could not download the model from ${address}: ${reason}.`, null, {
    cause,
  });
}
