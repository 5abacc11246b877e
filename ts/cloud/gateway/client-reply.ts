/** The reply to a client: passes on what a runner sends, and tells of failures at any point of it. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type CatalogueRow, ChasquiError, ERRORS } from '../../errors.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toErrorBody } from '../../http/error-handler.js';
import { isOutOfFiles, outOfFiles } from '../../process/open-files.js';
import { unframed } from './chunks.js';
import type { ReplyHead } from './reply-reader.js';
import { isAnthropics, isLastEvent, LastEvent, toFailureBody, toFailureFrames } from './stream-ends.js';

export interface ReplyOptions {
  /** A client that reads nothing for so long, while data waits for it, is disconnected; 0 is for ever. */
  stallMs: number;
  /** What of the app was asked for, which says how a stream may end and how failures are told; empty where it is not known. */
  path: string;
}

/** An event that is larger goes on in pieces, so that little of it is held. */
const MAX_HELD = 1024 * 1024;

export class ClientReply {
  readonly #response: ServerResponse;
  readonly #options: ReplyOptions;
  #isStream = false;
  #hasWritten = false;
  /** The beginning of an event that has not arrived in full. */
  #held = '';
  readonly #last = new LastEvent();
  #stalled: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse, options: ReplyOptions) {
    this.#response = response;
    this.#options = options;
    response.once('close', () => this.#stopStall());
  }

  /** Whether a status has been sent, so that a failure can only be an event. */
  get begun(): boolean {
    return this.#response.headersSent;
  }

  get isStream(): boolean {
    return this.#isStream;
  }

  get status(): number {
    return this.#response.statusCode;
  }

  /** False for a stream whose last event is none that it may end with, or has not come in full. */
  get mayEnd(): boolean {
    return !this.#isStream || (this.#held === '' && isLastEvent(this.#options.path, this.#last.text));
  }

  setHeader(name: string, value: string): void {
    if (!this.begun) this.#response.setHeader(name, value);
  }

  begin({ status, headers }: ReplyHead): void {
    for (const [name, value] of headers) this.#response.appendHeader(name, value);
    this.#isStream = /^text\/event-stream\b/i.test(String(this.#response.getHeader('content-type') ?? ''));
    this.#response.writeHead(status);
    // The head goes out together with the first bytes of the body where these have come with it.
    queueMicrotask(() => {
      if (!this.#hasWritten && !this.#response.writableEnded) this.#response.flushHeaders();
    });
  }

  /** Begins a stream of events of the gateway's own, for comments. */
  beginStream(): void {
    const headers = [
      ['content-type', 'text/event-stream; charset=utf-8'],
      ['cache-control', 'no-cache'],
      ['x-accel-buffering', 'no'],
    ] as const;
    this.begin({ status: 200, headers });
  }

  /** Of a stream, whole events only: no token can be read from a part of one, and a failure must not follow a part. */
  pass(bytes: string): boolean {
    if (!this.#isStream) return this.#write(bytes);
    const all = this.#held === '' ? bytes : this.#held + bytes;
    const found = all.endsWith('\n\n') ? all.length : all.lastIndexOf('\n\n') + 2;
    if (found === 1 && all.length <= MAX_HELD) {
      this.#held = all;
      return true;
    }
    const end = found === 1 ? all.length : found;
    this.#held = all.slice(end);
    const events = end === all.length ? all : all.slice(0, end);
    this.#last.add(events);
    return this.#write(events);
  }

  /** The same for whole chunks, with their lengths. As they are they go on where they hold nothing but whole events. */
  passChunks(framed: string): boolean {
    const isWhole = this.#isStream && this.#held === '' && framed.endsWith('\n\n\r\n') && this.#last.isBetween;
    const socket = isWhole ? this.#ownSocket() : null;
    if (socket === null) return this.pass(unframed(framed));
    this.#last.addChunks(framed);
    return socket.write(framed, 'latin1');
  }

  /** A comment of a stream, unless the client has not read the last one. */
  comment(text: string): void {
    if (!this.#response.writableNeedDrain)
      this.#write(Buffer.from(`: ${text.replace(/\s+/g, ' ')}\n\n`).toString('latin1'));
  }

  /** Calls back once when more can be written. The client is cut off when that takes too long. */
  whenDrained(resume: () => void): void {
    const { socket } = this.#response;
    const { stallMs } = this.#options;
    if (socket === null) return;
    if (stallMs > 0) this.#stalled ??= setTimeout(() => socket.destroy(), stallMs);
    socket.once('drain', () => {
      this.#stopStall();
      resume();
    });
  }

  end(): void {
    if (this.#held !== '') this.#write(this.#held);
    this.#held = '';
    this.#endResponse();
  }

  /** A reply that has begun and is no stream cannot tell: its connection is closed, so that it does not look complete. */
  fail(error: ChasquiError): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    const body = toErrorBody(error);
    if (!this.begun) {
      this.#replyWith(error, body);
    } else if (this.#isStream) {
      this.#write(Buffer.from(toFailureFrames(this.#options.path, body)).toString('latin1'));
      this.#endResponse();
    } else {
      response.destroy();
    }
  }

  #replyWith(error: ChasquiError, body: ErrorBody): void {
    const response = this.#response;
    const row: CatalogueRow = ERRORS[error.code];
    const retryAfter = error.retryAfterSeconds ?? row.retryAfterSeconds;
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    const { path } = this.#options;
    const id = response.getHeader('x-request-id');
    if (isAnthropics(path) && id !== undefined) response.setHeader('request-id', id);
    sendJson(response, row.status, toFailureBody(path, body));
    this.#limitWait();
  }

  #endResponse(): void {
    this.#response.end();
    this.#limitWait();
  }

  /** A reply that is complete waits in memory until its client has read it. */
  #limitWait(): void {
    const { stallMs } = this.#options;
    if (stallMs === 0) return;
    const timer = setTimeout(() => this.#response.destroy(), stallMs);
    timer.unref();
    this.#response.once('close', () => clearTimeout(timer)).once('finish', () => clearTimeout(timer));
  }

  #stopStall(): void {
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    this.#stalled = null;
  }

  #write(bytes: string): boolean {
    const socket = this.#ownSocket();
    this.#hasWritten = true;
    if (socket === null) return this.#response.write(bytes, 'latin1');
    return socket.write(`${bytes.length.toString(16)}\r\n${bytes}\r\n`, 'latin1');
  }

  /**
   * `ServerResponse.write()` makes four writes of a chunk, so chunks are framed here, as in `http/chunked-body.ts`. The
   * first one goes through it, together with the head; null for that, and where there are no chunks.
   */
  #ownSocket(): Socket | null {
    const { socket, chunkedEncoding } = this.#response;
    return this.#hasWritten && socket?.writable && chunkedEncoding ? socket : null;
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', bytes.length);
  response.writeHead(status);
  response.end(bytes);
}

/** What was thrown → what the client is told. */
export function toTold(thrown: unknown): ChasquiError {
  if (thrown instanceof ChasquiError) return thrown;
  if (isOutOfFiles(thrown)) return outOfFiles('The request could not be answered', thrown);
  return new ChasquiError('internal_error', ERRORS.internal_error.meaning, null, { cause: thrown });
}
