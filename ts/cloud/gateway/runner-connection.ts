/** One request to a runner, over a connection of its own to the runner's Unix socket. */
import net from 'node:net';
import { isOutOfFiles } from '../../process/open-files.js';
import type { RunnerAddress } from './directory.js';
import { BrokenReply, type ReplyHead, ReplyReader } from './reply-reader.js';

export interface RunnerRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

export interface RunnerHandler {
  onHead(head: ReplyHead): void;
  /** Bytes of the body, as Latin-1. Returns false when no more should come until `resume()`. */
  onBody(bytes: string): boolean;
  /** The same for whole chunks with their lengths, see `ReplyHandler`. */
  onChunks(framed: string): boolean;
  onEnd(trailers: ReplyHead['headers']): void;
  /**
   * The connection failed or ended too early, or else the bytes are no reply. Nothing is called after it, or after
   * `onEnd`.
   */
  onFailure(reason: string, isConnection: boolean): void;
  /** There is no connection, for want of files: the runner has no part in that. Nothing is called after it, either. */
  onNoFiles(error: Error): void;
}

/**
 * All connections are read into the same memory: libuv reads into it and calls back at once, and what is kept is copied
 * there. Windows reads ahead, so there each connection has memory of its own.
 */
const READ_BYTES = 64 * 1024;
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * A connection is not used again: a new one costs a tenth of a millisecond, and a runner that has closed an old one in
 * the same moment would look like one that failed.
 */
export class RunnerConnection {
  readonly #socket: net.Socket;
  readonly #reader: ReplyReader;
  readonly #handler: RunnerHandler;
  #over = false;
  #reading = true;

  constructor(runner: RunnerAddress, request: RunnerRequest, handler: RunnerHandler) {
    this.#handler = handler;
    this.#reader = new ReplyReader(request.method, {
      onHead: (head) => handler.onHead(head),
      onBody: (bytes) => {
        if (!this.#over) this.#reading = handler.onBody(bytes);
      },
      onChunks: (framed) => {
        if (!this.#over) this.#reading = handler.onChunks(framed);
      },
      onEnd: (trailers) => {
        if (this.#finish()) handler.onEnd(trailers);
      },
    });
    this.#socket = net.connect({
      path: runner.socketPath,
      onread: {
        buffer: shared ?? Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (count, bytes) => this.#read(count, bytes),
      },
    });
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!isOutOfFiles(error)) this.#fail(error.code ?? error.message, true);
      else if (this.#finish()) handler.onNoFiles(error);
    });
    this.#socket.on('close', () => this.#closed());
    // In one piece: a runner may reply before it has read the body, and close; a body that comes then is a broken
    // connection, by which its reply is lost.
    this.#socket.cork();
    this.#socket.write(toHead(request), 'latin1');
    if (request.body.length > 0) this.#socket.write(request.body);
    this.#socket.uncork();
  }

  resume(): void {
    this.#reading = true;
    this.#socket.resume();
  }

  /** Ends the request: the runner sees that its client is gone. */
  abort(): void {
    this.#finish();
  }

  #read(count: number, bytes: Uint8Array): boolean {
    if (this.#over) return true;
    try {
      this.#reader.read((bytes as Buffer).subarray(0, count));
    } catch (error) {
      if (!(error instanceof BrokenReply)) throw error;
      this.#fail(error.message, false);
    }
    return this.#reading || this.#over;
  }

  #closed(): void {
    if (this.#over) return;
    try {
      this.#reader.close();
    } catch (error) {
      this.#fail((error as Error).message, true);
    }
  }

  #fail(reason: string, isConnection: boolean): void {
    if (this.#finish()) this.#handler.onFailure(reason, isConnection);
  }

  /** Returns false when it was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#socket.destroy();
    return true;
  }
}

function toHead({ method, path, headers, body }: RunnerRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body.length > 0 || method === 'POST' ? `content-length: ${body.length}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${length}${lines.join('')}\r\n`;
}
