/** Fetches images by http and https. The address of every connection is checked first. */
import type http from 'node:http';
import { BadRedirect, readAddress, requestChecked } from './get-checked.js';
import { fileTooLarge, ImageError } from './image-error.js';
import { FETCH_TIMEOUT_MS, MAX_FILE_BYTES, MAX_REDIRECTS } from './limits.js';
import type { ImageHosts } from './public-address.js';
import type { Resolve } from './resolve-host.js';

export interface FetchOptions {
  hosts: ImageHosts;
  /** Aborted when the image is no longer needed. */
  signal: AbortSignal;
  /** Called with the length of each piece. */
  onBytes?: (bytes: number) => void;
  /** Default: chosen by `hosts`. */
  resolve?: Resolve;
  /** Default 10 s. */
  timeoutMs?: number;
  /** The header `Accept`. Default: images. */
  accept?: string;
}

/** @throws {ImageError} `invalid_image_url` */
export function parseAddress(text: string): URL {
  const url = readAddress(text);
  if (url === null) {
    throw new ImageError('invalid_image_url', 'must be an http or https address, or a base64 data URI.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new ImageError(
      'invalid_image_url',
      'has a name or password in its address: only open addresses are fetched.',
    );
  }
  return url;
}

/**
 * Returns the bytes at an address, unchecked. Rejects with an `ImageError`, or with the signal's reason. A refused connection,
 * a forbidden address, an unknown name and a timeout give the same error, which reveals nothing about the server's network.
 */
export async function fetchImage(url: URL, options: FetchOptions): Promise<Uint8Array> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    return await readBody(await open(url, { ...options, signal }), options.onBytes);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof BadRedirect) throw failed(error.message);
    throw error instanceof ImageError ? error : unreachable();
  }
}

async function open(
  url: URL,
  { hosts, signal, resolve, accept = 'image/*' }: FetchOptions,
): Promise<http.IncomingMessage> {
  // No compression.
  const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'chasqui' };
  const response = await requestChecked(url, { hosts, signal, resolve, headers, maxRedirects: MAX_REDIRECTS });
  if (response.statusCode === 200) return response;
  response.destroy();
  throw failed(`its server answered with status ${response.statusCode}`);
}

/** Reads at most the size limit, whatever the headers declare. */
async function readBody(response: http.IncomingMessage, onBytes: FetchOptions['onBytes']): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (Number(response.headers['content-length'] ?? 0) > MAX_FILE_BYTES) throw fileTooLarge();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_FILE_BYTES) throw fileTooLarge();
      onBytes?.(chunk.length);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks, size);
}

function failed(why: string): ImageError {
  return new ImageError('image_download_failed', `could not be downloaded: ${why}.`);
}

function unreachable(): ImageError {
  const error = failed(
    `its address must answer within ${FETCH_TIMEOUT_MS / 1000} seconds, and addresses in private networks are refused ` +
      'unless `imageHosts` allows them; or send it as a data URI',
  );
  error.option = 'imageHosts';
  return error;
}
