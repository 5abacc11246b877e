/** Requests that a client sends before it has the replies to earlier ones. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many of a connection may wait for their turn. */
const MAX_WAITING = 64;

/**
 * They are served one after another, so that one connection has no more than one at a time: limits that are by request or
 * by connection would mean little otherwise. A connection with more than 64 that wait is closed.
 */
export class PipelinedRequests {
  readonly #waiting = new WeakMap<Socket, number>();

  /** Calls `handle` when the replies before this one are over, and never when the client leaves before. */
  inTurn({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
    // Node gives a reply the socket when it is the first in line.
    if (response.socket !== null) {
      handle();
      return;
    }
    const count = (this.#waiting.get(socket) ?? 0) + 1;
    this.#waiting.set(socket, count);
    if (count > MAX_WAITING) {
      socket.destroy();
      return;
    }
    response.once('socket', () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1);
      if (!socket.destroyed) handle();
    });
  }
}
