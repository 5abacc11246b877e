/**
 * Parses a runner's reply. Takes half of the time per token of Node's client: complete chunks are forwarded with their
 * framing, as one string per read.
 */
import { chunksEnd } from './chunks.js';

export interface ReplyHead {
  status: number;
  /** With lower-case names. */
  headers: readonly (readonly [name: string, value: string])[];
}

export interface ReplyHandler {
  /** An interim reply (1xx). */
  onInterim(head: ReplyHead): void;
  onHead(head: ReplyHead): void;
  onBody(bytes: string): void;
  /** Complete chunks with their framing, without the final one. `unframed` of chunks.ts removes the framing. */
  onChunks(framed: string): void;
  onEnd(trailers: ReplyHead['headers']): void;
}

/** The reply is invalid or incomplete. */
export class BrokenReply extends Error {}

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_LINE_LENGTH = 4096;

type State = 'head' | 'sized' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done';

export class ReplyReader {
  readonly #hasBody: boolean;
  #state: State = 'head';
  /** An incomplete head or line. */
  #partial = '';
  /** Missing bytes of the body or chunk. */
  #left = 0;
  /** Body bytes of the current read. */
  #body = '';
  readonly #trailers: [string, string][] = [];

  constructor(
    method: string,
    private readonly handler: ReplyHandler,
  ) {
    this.#hasBody = method !== 'HEAD';
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  /** @throws {BrokenReply} */
  read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') at = this.#readWholeChunks(bytes, at) ?? this.#step(bytes, at);
    this.#flush();
    if (this.#state === 'done') this.handler.onEnd(this.#trailers);
  }

  /** Call at the end of the connection. @throws {BrokenReply} if the reply is incomplete */
  close(): void {
    if (this.#state === 'done') return;
    if (this.#state !== 'until-close') throw new BrokenReply('the connection ended before the reply did');
    this.#state = 'done';
    this.handler.onEnd([]);
  }

  /** Fast path: complete chunks. Returns their end, or null otherwise. */
  #readWholeChunks(bytes: Buffer, at: number): number | null {
    if (this.#state !== 'chunk-size' || this.#partial !== '') return null;
    const end = chunksEnd(bytes, at);
    if (end === at) return null;
    this.#flush();
    this.handler.onChunks(bytes.toString('latin1', at, end));
    return end;
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at);
      case 'chunk-size':
        return this.#readLine(bytes, at, (line) => this.#beginChunk(line));
      case 'chunk-end':
        return this.#readLine(bytes, at, (line) => this.#endChunk(line));
      case 'trailers':
        return this.#readLine(bytes, at, (line) => this.#addTrailer(line));
      case 'until-close':
        this.#body += bytes.toString('latin1', at);
        return bytes.length;
      default:
        return this.#readBody(bytes, at);
    }
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#body += bytes.toString('latin1', at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunk-end' : 'done';
    return end;
  }

  #readHead(bytes: Buffer, at: number): number {
    const before = this.#partial.length;
    this.#partial += bytes.toString('latin1', at, Math.min(bytes.length, at + MAX_HEAD_BYTES + 4));
    const end = this.#partial.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#partial.length > MAX_HEAD_BYTES) throw new BrokenReply('its headers are too large');
      return bytes.length;
    }
    const head = parseHead(this.#partial.slice(0, end));
    this.#partial = '';
    if (head.status >= 200) this.#begin(head);
    else this.handler.onInterim(head);
    return at + end + 4 - before;
  }

  #begin(head: ReplyHead): void {
    const encoding = headerOf(head, 'transfer-encoding');
    const length = headerOf(head, 'content-length');
    if (encoding !== undefined && (length !== undefined || encoding.toLowerCase() !== 'chunked')) {
      throw new BrokenReply('the length of its body is ambiguous');
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new BrokenReply('its Content-Length is not a number');
    this.#left = Number(length ?? 0);
    this.handler.onHead(head);
    if (!this.#hasBody || head.status === 204 || head.status === 304) this.#state = 'done';
    else if (encoding !== undefined) this.#state = 'chunk-size';
    else if (length === undefined) this.#state = 'until-close';
    else this.#state = this.#left === 0 ? 'done' : 'sized';
  }

  #readLine(bytes: Buffer, at: number, take: (line: string) => void): number {
    const end = bytes.indexOf(LINE_FEED, at);
    const upTo = end < 0 ? bytes.length : end + 1;
    if (this.#partial.length + upTo - at > MAX_LINE_LENGTH) throw new BrokenReply('one of its lines is too long');
    this.#partial += bytes.toString('latin1', at, upTo);
    if (end < 0) return upTo;
    const line = this.#partial;
    this.#partial = '';
    if (!line.endsWith('\r\n')) throw new BrokenReply('one of its lines ends without a carriage return');
    take(line.slice(0, -2));
    return upTo;
  }

  #beginChunk(line: string): void {
    const [, digits] = /^([0-9a-fA-F]{1,8})(?:[ \t]*;.*)?$/.exec(line) ?? [];
    if (digits === undefined) throw new BrokenReply('the length of a chunk is not a number');
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
  }

  #endChunk(line: string): void {
    if (line !== '') throw new BrokenReply('a chunk is longer than announced');
    this.#state = 'chunk-size';
  }

  #addTrailer(line: string): void {
    if (line === '') {
      this.#state = 'done';
      return;
    }
    if (this.#trailers.length >= MAX_TRAILERS) throw new BrokenReply('it has too many trailers');
    this.#trailers.push(parseHeader(line));
  }

  #flush(): void {
    if (this.#body === '') return;
    const body = this.#body;
    this.#body = '';
    this.handler.onBody(body);
  }
}

const LINE_FEED = 0x0a;
const MAX_TRAILERS = 16;

function parseHead(text: string): ReplyHead {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine) ?? [];
  if (status === undefined) throw new BrokenReply('it is not an HTTP reply');
  return { status: Number(status), headers: lines.map(parseHeader) };
}

function parseHeader(line: string): [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  // Node refuses to send headers with control characters.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
  if (name === undefined || value === undefined || /[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
    throw new BrokenReply('one of its headers is invalid');
  }
  return [name.toLowerCase(), value];
}

export function headerOf({ headers }: Pick<ReplyHead, 'headers'>, name: string): string | undefined {
  const values = headers.filter(([each]) => each === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}
