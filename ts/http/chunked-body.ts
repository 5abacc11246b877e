/** Writes a reply's body in many small pieces. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/**
 * `ServerResponse.write()` makes four writes of a chunk and joins them in a tick, which is a fifth of a token's cost on
 * the server's thread. So chunks are framed here and written to the socket in one piece. Exceptions are the first
 * chunk, which Node sends together with the head, and replies without chunks (HTTP/1.0) or without a socket of their
 * own (injected, or pipelined behind another).
 */
export class ChunkedBody {
  readonly #response: ServerResponse;
  #headIsOut = false;
  /** The response's, once something was written to it. */
  #socket: Socket | null = null;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /**
   * To be called after `writeHead()`. Returns false when the client reads too slowly; the caller should wait for
   * `onDrain` then. When the client is gone, Node discards the text without an error.
   */
  write(text: string): boolean {
    if (this.#headIsOut) this.#socket ??= this.#ownSocket();
    const socket = this.#socket;
    this.#headIsOut = true;
    if (!socket?.writable || !this.#response.chunkedEncoding) return this.#response.write(text);
    const bytes = Buffer.byteLength(text);
    // Text of as many bytes as characters is ASCII, which Node copies faster when it is told so.
    return socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? 'latin1' : 'utf8');
  }

  /** Whether text that was written still waits for the client to read it. */
  get needsDrain(): boolean {
    return (this.#ownSocket() ?? this.#response).writableNeedDrain;
  }

  /** Calls `listener` whenever more can be written. Returns a function that removes the listener. */
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
