/** The reply to a client: relays the runner's reply and reports failures at any point of it. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type CatalogueRow, ChasquiError, ERRORS } from '../../errors.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toErrorBody } from '../../http/error-handler.js';
import { isOutOfFiles, outOfFiles } from '../../process/open-files.js';
import { unframed } from './chunks.js';
import type { ReplyHead } from './reply-reader.js';
import { isAnthropics, isLastEvent, LastEvent, toFailureBody, toFailureFrames } from './stream-ends.js';

export interface ReplyOptions {
  /** Disconnects a client that does not read for this long while data is pending; 0: never. */
  stallMs: number;
  /** Path within the app, which decides how streams end and how errors look; empty if unknown. */
  path: string;
}

/** Larger events are relayed in pieces to bound memory. */
const MAX_HELD = 1024 * 1024;

export class ClientReply {
  #isStream = false;
  #hasWritten = false;
  /** Start of an incomplete event. */
  #held = '';
  readonly #last = new LastEvent();
  #stalled: NodeJS.Timeout | null = null;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: ReplyOptions,
  ) {
    response.once('close', () => this.#stopStall());
  }

  /** Whether the status was sent. From then on a failure can only be an event. */
  get begun(): boolean {
    return this.response.headersSent;
  }

  get isStream(): boolean {
    return this.#isStream;
  }

  get status(): number {
    return this.response.statusCode;
  }

  /** False for a stream with an incomplete last event, or one that must not be the last. */
  get mayEnd(): boolean {
    return !this.#isStream || (this.#held === '' && isLastEvent(this.options.path, this.#last.text));
  }

  setHeader(name: string, value: string): void {
    if (!this.begun) this.response.setHeader(name, value);
  }

  begin({ status, headers }: ReplyHead): void {
    for (const [name, value] of headers) this.response.appendHeader(name, value);
    this.#isStream = /^text\/event-stream\b/i.test(String(this.response.getHeader('content-type') ?? ''));
    this.response.writeHead(status);
    // Sends the head together with the first bytes of the body if these are available.
    queueMicrotask(() => {
      if (!this.#hasWritten && !this.response.writableEnded) this.response.flushHeaders();
    });
  }

  /** Begins a stream of the gateway's own, for comments. */
  beginStream(): void {
    const headers = [
      ['content-type', 'text/event-stream; charset=utf-8'],
      ['cache-control', 'no-cache'],
      ['x-accel-buffering', 'no'],
    ] as const;
    this.begin({ status: 200, headers });
  }

  /** Relays bytes. Streams are relayed in whole events, because a failure event must not follow a partial event. */
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

  /** Relays complete chunks. If they contain exactly whole events, they are written without reframing. */
  passChunks(framed: string): boolean {
    const isWhole = this.#isStream && this.#held === '' && framed.endsWith('\n\n\r\n') && this.#last.isBetween;
    const socket = isWhole ? this.#chunkSocket() : null;
    if (socket === null) return this.pass(unframed(framed));
    this.#last.addChunks(framed);
    return socket.write(framed, 'latin1');
  }

  /** Sends a stream comment, unless the client has not read the previous data. */
  comment(text: string): void {
    if (!this.response.writableNeedDrain)
      this.#write(Buffer.from(`: ${text.replace(/\s+/g, ' ')}\n\n`).toString('latin1'));
  }

  /** Calls `resume` once more data can be written. Disconnects the client after `stallMs`. */
  whenDrained(resume: () => void): void {
    const { socket } = this.response;
    const { stallMs } = this.options;
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

  /** Reports an error. A reply that has begun and is not a stream is aborted, so that it does not look complete. */
  fail(error: ChasquiError): void {
    const response = this.response;
    if (response.destroyed || response.writableEnded) return;
    const body = toErrorBody(error);
    if (!this.begun) {
      this.#replyWith(error, body);
    } else if (this.#isStream) {
      this.#write(Buffer.from(toFailureFrames(this.options.path, body)).toString('latin1'));
      this.#endResponse();
    } else {
      response.destroy();
    }
  }

  #replyWith(error: ChasquiError, body: ErrorBody): void {
    const response = this.response;
    const row: CatalogueRow = ERRORS[error.code];
    const retryAfter = error.retryAfterSeconds ?? row.retryAfterSeconds;
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    // Clients of OpenAI would retry it.
    if (error.code === 'insufficient_quota') response.setHeader('x-should-retry', 'false');
    const { path } = this.options;
    const id = response.getHeader('x-request-id');
    if (isAnthropics(path) && id !== undefined) response.setHeader('request-id', id);
    sendJson(response, row.status, toFailureBody(path, body, id === undefined ? null : String(id)));
    this.#limitUnreadTime();
  }

  #endResponse(): void {
    this.response.end();
    this.#limitUnreadTime();
  }

  /** Limits how long a complete reply waits in memory for its client. */
  #limitUnreadTime(): void {
    const { stallMs } = this.options;
    if (stallMs === 0) return;
    const timer = setTimeout(() => this.response.destroy(), stallMs);
    timer.unref();
    this.response.once('close', () => clearTimeout(timer)).once('finish', () => clearTimeout(timer));
  }

  #stopStall(): void {
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    this.#stalled = null;
  }

  #write(bytes: string): boolean {
    const socket = this.#chunkSocket();
    this.#hasWritten = true;
    if (socket === null) return this.response.write(bytes, 'latin1');
    return socket.write(`${bytes.length.toString(16)}\r\n${bytes}\r\n`, 'latin1');
  }

  /**
   * The socket, to write chunks in one piece: `ServerResponse.write()` makes four writes per chunk (see
   * `http/chunked-body.ts`). Null for the first write, which includes the head, for replies without chunked encoding, and
   * for injected requests.
   */
  #chunkSocket(): Socket | null {
    const { socket, chunkedEncoding } = this.response;
    return this.#hasWritten && socket instanceof Socket && socket.writable && chunkedEncoding ? socket : null;
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', bytes.length);
  response.writeHead(status);
  response.end(bytes);
}

/** Maps any error to the error the client receives. */
export function toClientError(thrown: unknown): ChasquiError {
  if (thrown instanceof ChasquiError) return thrown;
  if (isOutOfFiles(thrown)) return outOfFiles('The request could not be answered', thrown);
  return new ChasquiError('internal_error', ERRORS.internal_error.meaning, null, { cause: thrown });
}
