/**
 * Which connections wait for their next request. Node counts those among them whose reply has ended while their client
 * has still to read it, and would cut such a reply off.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import tls from 'node:tls';

interface Connection {
  /** Whether a request has come at all. A new connection's first one may be on its way. */
  hasAsked: boolean;
  /** Replies that are not written to their ends. */
  replies: number;
  /** Bytes that had been read when the last reply was over. More of them are the beginning of a request. */
  read: number;
}

/** Makes the server's own way to close idle connections, which it takes when it closes, one that cuts nothing off. */
export class IdleConnections {
  readonly #connections = new Map<Socket, Connection>();

  constructor(server: Server) {
    server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#connections.set(socket, { hasAsked: false, replies: 0, read: socket.bytesRead });
      socket.once('close', () => this.#connections.delete(socket));
    });
    server.on('request', (request, response) => this.add(request.socket, response));
    server.closeIdleConnections = () => this.#close(() => true);
  }

  /** For requests that come by another event of the server than `request`. */
  add(socket: Socket, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.hasAsked = true;
    connection.replies += 1;
    response.once('close', () => {
      connection.replies -= 1;
      connection.read = socket.bytesRead;
    });
  }

  /** Closes those that wait for another request than their first. */
  makeRoom(): void {
    this.#close(({ hasAsked }) => hasAsked);
  }

  #close(isMeant: (connection: Connection) => boolean): void {
    for (const [socket, connection] of this.#connections) {
      const isIdle = connection.replies === 0 && socket.bytesRead === connection.read;
      if (isIdle && isMeant(connection)) socket.destroy();
    }
  }
}

const LOOK_MS = 20;

/**
 * For a server that takes no new connections: closes the others as they have nothing more to read, and after `graceMs`
 * all that are left.
 */
export async function endConnections(server: Server, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, left) => resolve(left ?? 0)));
  while ((await count()) > 0 && performance.now() < deadline) {
    server.closeIdleConnections();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  server.closeAllConnections();
}
