/** Fetches images by http and https; the address of every connection is checked before it is made. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { ImageError } from './image-error.js';
import { FETCH_TIMEOUT_MS, MAX_FILE_BYTES, MAX_REDIRECTS, MIB } from './limits.js';
import { hostsOnTheWay, type ImageHosts, mayConnect } from './public-address.js';
import { checkedLookup, type Resolve, resolverFor } from './resolve-host.js';

export interface FetchOptions {
  hosts: ImageHosts;
  /** Aborted when the image is no longer needed. */
  signal: AbortSignal;
  /** Told when so many bytes more of the image have arrived. */
  onBytes?: (bytes: number) => void;
  /** Default: as `hosts` needs it. */
  resolve?: Resolve;
  /** Default 10 s. */
  timeoutMs?: number;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_URL_LENGTH = 8192;
const MAX_HEADER_BYTES = 16 * 1024;

/** @throws {ImageError} `invalid_image_url` */
export function parseAddress(text: string, base?: string): URL {
  const url = text.length <= MAX_URL_LENGTH && URL.canParse(text, base) ? new URL(text, base) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
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
 * Returns the bytes at an address, whatever they are. Rejects with an `ImageError`, or with the signal's reason. A
 * refused connection, a refused address, an unknown name and silence give the same error, so that an error tells
 * nothing about the server's own network.
 */
export async function fetchImage(url: URL, options: FetchOptions): Promise<Uint8Array> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    return await readBody(await followRedirects(url, { ...options, signal }), options.onBytes);
  } catch (error) {
    options.signal.throwIfAborted();
    throw error instanceof ImageError ? error : unreachable();
  }
}

async function followRedirects(first: URL, options: FetchOptions): Promise<http.IncomingMessage> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const hosts = hostsOnTheWay(first.hostname, url.hostname, options.hosts);
    const response = await request(url, { ...options, hosts });
    const { statusCode = 0 } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (!REDIRECTS.has(statusCode) || response.headers.location === undefined) {
      throw failed(`its server answered with status ${statusCode}`);
    }
    url = redirected(response.headers.location, url);
  }
  throw failed(`it was redirected more than ${MAX_REDIRECTS} times`);
}

function redirected(location: string, from: URL): URL {
  try {
    return parseAddress(location, from.href);
  } catch {
    throw failed('it was redirected to what is no open http or https address');
  }
}

/** Each request gets a connection of its own, so that no connection is used again unchecked. Compression stays off. */
function request(url: URL, { hosts, signal, resolve = resolverFor(hosts) }: FetchOptions) {
  const { get } = url.protocol === 'https:' ? https : http;
  return new Promise<http.IncomingMessage>((resolveResponse, reject) => {
    const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (net.isIP(literal) !== 0 && !mayConnect(literal, hosts)) throw unreachable();
    get(url, {
      agent: false,
      headers: { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'chasqui' },
      lookup: checkedLookup(resolve, hosts, signal),
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    })
      .once('response', resolveResponse)
      .on('error', reject);
  });
}

/** Reads no more than the largest image may have, whatever the headers say. */
async function readBody(response: http.IncomingMessage, onBytes: FetchOptions['onBytes']): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (Number(response.headers['content-length'] ?? 0) > MAX_FILE_BYTES) throw tooLarge();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_FILE_BYTES) throw tooLarge();
      onBytes?.(chunk.length);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(): ImageError {
  return new ImageError('image_too_large', `is larger than ${MAX_FILE_BYTES / MIB} MiB: send a smaller one.`);
}

function failed(why: string): ImageError {
  return new ImageError('image_download_failed', `could not be downloaded: ${why}.`);
}

function unreachable(): ImageError {
  const error = failed(
    `its address must answer within ${FETCH_TIMEOUT_MS / 1000} seconds, and addresses in private networks are refused ` +
      'unless `imageHosts` allows them; or send the image as a data URI',
  );
  error.option = 'imageHosts';
  return error;
}
