/** One request to a runner over its Unix socket. */
import net from 'node:net';
import { isOutOfFiles } from '../../process/open-files.js';
import type { RunnerAddress } from './directory.js';
import { BrokenReply, type ReplyHead, ReplyReader } from './reply-reader.js';

export interface RunnerRequest {
  method: string;
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

export interface RunnerHandler {
  onInterim(head: ReplyHead): void;
  onHead(head: ReplyHead): void;
  /** Bytes of the body in Latin-1. Returns false to pause until `resume()`. */
  onBody(bytes: string): boolean;
  /** Complete chunks with their framing, see `ReplyHandler`. */
  onChunks(framed: string): boolean;
  onEnd(trailers: ReplyHead['headers']): void;
  /** The connection failed (`isConnection`) or the reply is invalid. No call follows this one or `onEnd`. */
  onFailure(reason: string, isConnection: boolean): void;
  /** No file descriptor is free for a connection. The runner has not failed. No call follows. */
  onNoFiles(error: Error): void;
}

/**
 * All connections share one read buffer: libuv reads into it and calls back synchronously, and the reader copies what
 * it keeps. Windows reads ahead, so connections have their own buffers there.
 */
const READ_BYTES = 64 * 1024;
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * Connections are not reused: a new one takes 0.1 ms, and a runner that closes an idle one at the same moment would
 * look like a failed runner.
 */
export class RunnerConnection {
  readonly #socket: net.Socket;
  readonly #reader: ReplyReader;
  #over = false;
  #reading = true;

  constructor(
    runner: RunnerAddress,
    request: RunnerRequest,
    private readonly handler: RunnerHandler,
  ) {
    this.#reader = new ReplyReader(request.method, {
      onInterim: (head) => handler.onInterim(head),
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
    // Write in one piece: a runner may reply and close before it has read the body, and a later write would break the
    // connection and lose the reply.
    this.#socket.cork();
    this.#socket.write(toHead(request), 'latin1');
    if (request.body.length > 0) this.#socket.write(request.body);
    this.#socket.uncork();
  }

  resume(): void {
    this.#reading = true;
    this.#socket.resume();
  }

  /** Closes the connection, so the runner cancels the request. */
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
    if (this.#finish()) this.handler.onFailure(reason, isConnection);
  }

  /** Returns false if it had finished before. */
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
