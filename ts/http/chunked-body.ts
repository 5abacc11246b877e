/** Writes a reply's body in many small pieces. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/**
 * `ServerResponse.write()` makes four writes of a chunk and joins them in a tick, which is a fifth of what a token costs
 * the server's thread. So chunks are framed here, and go to the socket in one piece: all but the first, which brings the
 * head along, and those of replies that have no chunks (HTTP/1.0) or no socket of their own (injected, or pipelined
 * behind another).
 */
export class ChunkedBody {
  readonly #response: ServerResponse;
  #headIsOut = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /**
   * After `writeHead()`. False when the client reads more slowly than this, and `onDrain` should be waited for. Once the
   * client has gone Node drops what is written, without an error.
   */
  write(text: string): boolean {
    const socket = this.#headIsOut ? this.#ownSocket() : null;
    this.#headIsOut = true;
    if (!socket?.writable || !this.#response.chunkedEncoding) return this.#response.write(text);
    return socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  /** Whether what was written waits for the client to read. */
  get needsDrain(): boolean {
    return (this.#ownSocket() ?? this.#response).writableNeedDrain;
  }

  /** Calls `listener` whenever more can be written; what it returns ends that. */
  onDrain(listener: () => void): () => void {
    const target = this.#ownSocket() ?? this.#response;
    target.on('drain', listener);
    return () => target.off('drain', listener);
  }

  #ownSocket(): Socket | null {
    const { socket } = this.#response;
    return socket instanceof Socket ? socket : null;
  }
}
