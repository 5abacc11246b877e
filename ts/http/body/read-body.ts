/** Reads a request's body into one buffer and checks all limits that can be checked while it arrives. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';
import { parseJsonBody } from './json-body.js';
import {
  BYTES_FOR_TEXTS,
  FREE_BYTES,
  MAX_BYTES_HELD,
  MAX_SILENCE_MS,
  MAX_SMALL_PIECES,
  MAX_TEXT_BYTES,
  SMALL_PIECE,
} from './limits.js';

export interface BodyLimits {
  /** In bytes. */
  maxBytes: number;
  /** Default 20 s. */
  maxSilenceMs?: number | undefined;
}

/**
 * Rejects with `request_too_large`, `request_timeout`, `server_busy`, `bad_request` or `client_closed_request`, and
 * then leaves the rest of the body unread. `openShare` gets a function that aborts the read when others need the
 * memory.
 */
export function readBody(
  payload: IncomingMessage,
  announced: number | null,
  { maxBytes, maxSilenceMs = MAX_SILENCE_MS }: BodyLimits,
  openShare: (makeWay: () => void) => Share,
): Promise<Buffer> {
  if (announced !== null && announced > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const gathered = new GrowingBuffer(Math.min(announced ?? maxBytes, maxBytes));
    const share = openShare(() => stop(serverBusy()));
    const silence = setTimeout(() => stop(tooSilent(maxSilenceMs)), maxSilenceMs);
    let pieces = 0;

    const onData = (chunk: Buffer | string): void => {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      silence.refresh();
      pieces += 1;
      if (gathered.length + piece.length > maxBytes) stop(tooLarge(maxBytes));
      else if (pieces > MAX_SMALL_PIECES && gathered.length < pieces * SMALL_PIECE) stop(tooManyPieces());
      else if (!share.grow(piece.length)) stop(serverBusy());
      else gathered.add(piece);
    };
    const onEnd = (): void => {
      settle();
      share.complete();
      if (announced === null || announced === gathered.length) resolve(gathered.bytes);
      else reject(otherLength(announced, gathered.length));
    };
    const onGone = (): void => stop(new ChasquiError('client_closed_request', 'The client closed the connection.'));
    const settle = (): void => {
      clearTimeout(silence);
      payload.off('data', onData).off('end', onEnd).off('close', onGone);
    };
    const stop = (reason: ChasquiError): void => {
      settle();
      share.release();
      reject(reason);
    };

    payload.on('data', onData).on('end', onEnd).on('close', onGone);
    // `close` follows and is handled; but an error event without a listener would end the process.
    payload.on('error', () => undefined);
  });
}

/**
 * Refuses compressed bodies: a few bytes could expand to any size, and limits could only be checked after
 * decompression. @throws {ChasquiError} `unsupported_media_type`
 */
export function refuseCompressed(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding'] ?? '';
  if (/^\s*(identity)?\s*$/i.test(encoding)) return;
  throw new ChasquiError(
    'unsupported_media_type',
    `Send the body as it is: this one came with \`Content-Encoding: ${encoding.slice(0, 40)}\`, and is not unpacked here.`,
  );
}

/** Copies pieces into one buffer on arrival, because each separate piece would take some hundred bytes more. */
class GrowingBuffer {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** `maxBytes`: the largest size of the buffer. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) this.#enlarge(length);
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #enlarge(length: number): void {
    const capacity = Math.max(length, Math.min(2 * this.#buffer.length, this.#maxBytes));
    const buffer = Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(buffer, 0, 0, this.#length);
    this.#buffer = buffer;
  }
}

function tooLarge(maxBytes: number): ChasquiError {
  return new ChasquiError(
    'request_too_large',
    `The request body is larger than this server's limit, ${maxBytes} bytes at this path.`,
  );
}

function tooManyPieces(): ChasquiError {
  return new ChasquiError(
    'bad_request',
    `The request body came in more than ${MAX_SMALL_PIECES} pieces of less than ${SMALL_PIECE} bytes: send larger ones.`,
  );
}

function tooSilent(ms: number): ChasquiError {
  return new ChasquiError('request_timeout', `No more of the request body came for ${ms / 1000} seconds.`);
}

function serverBusy(): ChasquiError {
  return new ChasquiError(
    'server_busy',
    'The server holds as much of request bodies as it has room for. Try again later, or send a smaller one.',
  );
}

function otherLength(announced: number, length: number): ChasquiError {
  return new ChasquiError('bad_request', `The body has ${length} bytes, but its Content-Length says ${announced}.`);
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Keys of image lists in the route's body. Their data URIs and base64 strings count as images, not as text. */
    imageLists?: readonly string[];
  }
}

export interface BodyOptions {
  /** The largest limit that any route has, in bytes. */
  maxBytes: number;
  /** Default 20 s. */
  maxSilenceMs: number | undefined;
}

/**
 * A web page of another origin cannot send JSON's content type without a CORS preflight. Requiring that type stops
 * pages from using a local server without permission.
 */
export function readBodies(app: FastifyInstance, profile: Profile, options: BodyOptions): void {
  const budget = BodyBudget.forBodiesOf(options.maxBytes);
  const { maxSilenceMs } = options;
  const replies = new WeakMap<IncomingMessage, ServerResponse>();
  app.addHook('onRequest', async (request, reply) => {
    replies.set(request.raw, reply.raw);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseCompressed(request.headers);
    const { bodyLimit: maxBytes = 0, config, schema } = request.routeOptions;
    const openShare = (makeWay: () => void) => holdFor(replies.get(request.raw), budget.open(makeWay));
    const bytes = await readBody(payload, announcedLength(request), { maxBytes, maxSilenceMs }, openShare);
    // Some clients send the content type with every request, even without a body.
    if (bytes.length === 0 && schema?.body === undefined) return undefined;
    return parseJsonBody(bytes, config.imageLists);
  });
  if (profile.demandsJsonContentType) return;
  app.addHook('onRequest', async ({ headers }) => {
    headers['content-type'] = 'application/json';
  });
}

/** Holds the share until the reply ends, because values parsed from the body are used until then. */
function holdFor(reply: ServerResponse | undefined, share: Share): Share {
  reply?.once('close', () => share.release());
  return {
    ...share,
    complete: () => {
      share.complete();
      // The reply has emitted `close` before, so the listener above will not be called.
      if (reply?.destroyed) share.release();
    },
  };
}

function announcedLength({ headers }: FastifyRequest): number | null {
  return headers['content-length'] === undefined ? null : Number(headers['content-length']);
}

/** The share of a body in the budget. */
export interface Share {
  /** Call it when `bytes` more have arrived. Returns false if they exceed the budget and nothing can be evicted. */
  grow(bytes: number): boolean;
  /** Call it when the body is complete, which protects it from eviction. */
  complete(): void;
  /** Call it when the bytes are no longer held. */
  release(): void;
}

interface Entry {
  bytes: number;
  makeWay(): void;
}

export class BodyBudget {
  readonly #total: number;
  readonly #free: number;
  readonly #forImages: number;
  readonly #arriving = new Set<Entry>();
  #held = 0;
  #heldWithImages = 0;

  /** `forTexts`: the part of `total` that is reserved for bodies of text size. */
  constructor(total: number, free: number, forTexts: number) {
    this.#total = total;
    this.#free = free;
    this.#forImages = total - forTexts;
  }

  /** Makes a budget with room for two bodies of the largest size. */
  static forBodiesOf(maxBytes: number): BodyBudget {
    return new BodyBudget(Math.max(MAX_BYTES_HELD, 2 * maxBytes), FREE_BYTES, BYTES_FOR_TEXTS);
  }

  /** The counted bytes that are currently held. */
  get held(): number {
    return this.#held;
  }

  /** Calls `makeWay` when others need the memory; the share is then released. */
  open(makeWay: () => void): Share {
    const entry: Entry = { bytes: 0, makeWay };
    this.#arriving.add(entry);
    return {
      grow: (bytes) => this.#grow(entry, bytes),
      complete: () => void this.#arriving.delete(entry),
      release: () => this.#release(entry),
    };
  }

  #grow(entry: Entry, bytes: number): boolean {
    const grown = entry.bytes + bytes;
    const wanted = this.#charge(grown);
    const more = wanted - this.#charge(entry.bytes);
    const moreWithImages = this.#imageCharge(grown) - this.#imageCharge(entry.bytes);
    const isFull = () =>
      (more > 0 && this.#held + more > this.#total) ||
      (moreWithImages > 0 && this.#heldWithImages + moreWithImages > this.#forImages);
    while (isFull()) {
      const largest = this.#largest();
      if (largest === null || largest === entry || this.#charge(largest.bytes) <= wanted) return false;
      this.#release(largest);
      largest.makeWay();
    }
    this.#held += more;
    this.#heldWithImages += moreWithImages;
    entry.bytes = grown;
    return true;
  }

  #largest(): Entry | null {
    let largest: Entry | null = null;
    for (const entry of this.#arriving) if (entry.bytes > (largest?.bytes ?? -1)) largest = entry;
    return largest;
  }

  #release(entry: Entry): void {
    this.#arriving.delete(entry);
    this.#held -= this.#charge(entry.bytes);
    this.#heldWithImages -= this.#imageCharge(entry.bytes);
    entry.bytes = 0;
  }

  #charge(bytes: number): number {
    return Math.max(0, bytes - this.#free);
  }

  #imageCharge(bytes: number): number {
    return bytes > MAX_TEXT_BYTES ? this.#charge(bytes) : 0;
  }
}
