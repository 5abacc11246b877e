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
 * Holds the body in the budget until the reply ends, because values that are parsed from it are used until then. Rejects with
 * `request_too_large`, `request_timeout`, `server_busy`, `bad_request` or `client_closed_request`, and then leaves the rest of
 * the body unread.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse | undefined,
  { maxBytes, maxSilenceMs = MAX_SILENCE_MS }: BodyLimits,
  budget: BodyBudget,
): Promise<Buffer> {
  const { 'content-length': given } = request.headers;
  const announced = given === undefined ? null : Number(given);
  if (announced !== null && announced > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const held = budget.open(() => stop(serverBusy()));
    const silence = setTimeout(() => stop(tooSilent(maxSilenceMs)), maxSilenceMs);
    let buffer: Buffer = Buffer.alloc(0);
    let length = 0;
    let pieces = 0;

    const onData = (chunk: Buffer | string): void => {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      const grown = length + piece.length;
      silence.refresh();
      pieces += 1;
      if (grown > maxBytes) stop(tooLarge(maxBytes));
      else if (pieces > MAX_SMALL_PIECES && length < pieces * SMALL_PIECE) stop(tooManyPieces());
      else if (!budget.grow(held, piece.length)) stop(serverBusy());
      else {
        // One buffer, because each separate piece would take some hundred bytes more.
        if (grown > buffer.length) {
          const larger = Buffer.allocUnsafeSlow(Math.max(grown, Math.min(2 * buffer.length, announced ?? maxBytes)));
          buffer.copy(larger, 0, 0, length);
          buffer = larger;
        }
        piece.copy(buffer, length);
        length = grown;
      }
    };
    const onEnd = (): void => {
      settle();
      // A reply that is over emits no further `close`.
      if (response?.destroyed) budget.release(held);
      else budget.complete(held);
      if (announced === null || announced === length) resolve(buffer.subarray(0, length));
      else reject(otherLength(announced, length));
    };
    const onGone = (): void => stop(new ChasquiError('client_closed_request', 'The client closed the connection.'));
    const settle = (): void => {
      clearTimeout(silence);
      request.off('data', onData).off('end', onEnd).off('close', onGone);
    };
    const stop = (reason: ChasquiError): void => {
      settle();
      budget.release(held);
      reject(reason);
    };

    request.on('data', onData).on('end', onEnd).on('close', onGone);
    // `close` follows and is handled; but an error event without a listener would end the process.
    request.on('error', () => undefined);
    response?.once('close', () => budget.release(held));
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
    /** The route takes `multipart/form-data`. */
    takesForm?: boolean;
  }
  interface FastifyInstance {
    /** Reads a body within the limits of its route and of the server. For content type parsers. */
    readBytes(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer>;
  }
}

export interface BodyOptions {
  /** The largest limit that any route has, in bytes. */
  maxBytes: number;
  /** Default 20 s. */
  maxSilenceMs: number | undefined;
  /** Below this path, clients that are no web page may send any content type, as Ollama's do. */
  anyTypeBelow: string;
}

/**
 * A web page of another origin cannot send JSON's content type without a CORS preflight. Requiring that type stops
 * pages from using a local server without permission. Other clients may omit the type.
 */
export function readBodies(app: FastifyInstance, profile: Profile, options: BodyOptions): void {
  const budget = BodyBudget.forBodiesOf(options.maxBytes);
  const { maxSilenceMs, anyTypeBelow } = options;
  const replies = new WeakMap<IncomingMessage, ServerResponse>();
  app.addHook('onRequest', async (request, reply) => {
    replies.set(request.raw, reply.raw);
  });
  app.removeAllContentTypeParsers();
  app.decorate('readBytes', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseCompressed(request.headers);
    const { bodyLimit: maxBytes = 0 } = request.routeOptions;
    return readBody(payload, replies.get(request.raw), { maxBytes, maxSilenceMs }, budget);
  });
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { config, schema } = request.routeOptions;
    const bytes = await app.readBytes(request, payload);
    // Some clients send the content type with every request, even without a body.
    if (bytes.length === 0 && schema?.body === undefined) return undefined;
    return parseJsonBody(bytes, config.imageLists);
  });
  app.addHook('onRequest', async ({ headers, routeOptions: { url = '', config } }) => {
    if (config.takesForm) return;
    const needsNoType = headers['content-type'] === undefined || url.startsWith(anyTypeBelow);
    const isFree = !profile.demandsJsonContentType || (needsNoType && !isFromPage(headers));
    if (isFree) headers['content-type'] = 'application/json';
  });
}

/** Browsers name the origin of every POST that crosses origins, as `null` if they hide it. */
function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

/** A body, and how much of it counts in the budget. */
export interface HeldBody {
  bytes: number;
  counted: number;
  countedWithImages: number;
  /** Called when others need the memory; the body is then released. */
  makeWay(): void;
}

export class BodyBudget {
  readonly #forImages: number;
  readonly #arriving = new Set<HeldBody>();
  #held = 0;
  #heldWithImages = 0;

  /** `forTexts`: the part of `total` that is reserved for bodies of text size. */
  constructor(
    private readonly total: number,
    private readonly free: number,
    forTexts: number,
  ) {
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

  open(makeWay: () => void): HeldBody {
    const body: HeldBody = { bytes: 0, counted: 0, countedWithImages: 0, makeWay };
    this.#arriving.add(body);
    return body;
  }

  /** `bytes` more have arrived. Returns false if they exceed the budget and nothing can be evicted. */
  grow(body: HeldBody, bytes: number): boolean {
    const grown = body.bytes + bytes;
    const counted = Math.max(0, grown - this.free);
    const countedWithImages = grown > MAX_TEXT_BYTES ? counted : 0;
    const more = counted - body.counted;
    const moreWithImages = countedWithImages - body.countedWithImages;
    while (
      (more > 0 && this.#held + more > this.total) ||
      (moreWithImages > 0 && this.#heldWithImages + moreWithImages > this.#forImages)
    ) {
      const largest = this.#largest();
      if (largest === null || largest === body || largest.counted <= counted) return false;
      this.release(largest);
      largest.makeWay();
    }
    this.#held += more;
    this.#heldWithImages += moreWithImages;
    Object.assign(body, { bytes: grown, counted, countedWithImages });
    return true;
  }

  /** The body is complete, which protects it from eviction. */
  complete(body: HeldBody): void {
    this.#arriving.delete(body);
  }

  /** The bytes are no longer held. */
  release(body: HeldBody): void {
    this.#arriving.delete(body);
    this.#held -= body.counted;
    this.#heldWithImages -= body.countedWithImages;
    Object.assign(body, { bytes: 0, counted: 0, countedWithImages: 0 });
  }

  #largest(): HeldBody | null {
    let largest: HeldBody | null = null;
    for (const body of this.#arriving) if (body.bytes > (largest?.bytes ?? -1)) largest = body;
    return largest;
  }
}
