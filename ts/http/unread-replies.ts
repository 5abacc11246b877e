/**
 * What clients do not read of their replies stays in the memory of the server. A reply may have megabytes, a client many
 * connections, and nobody waits so long for a whole reply as for a stream. So all of it together is bounded: beyond that, the
 * connections where most waits are cut off.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const MAX_UNREAD_BYTES = 512 * 2 ** 20;
const CHECK_MS = 500;

export function limitUnread(server: Server, max = MAX_UNREAD_BYTES): void {
  const sockets = new Set<Socket>();
  const add = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', add);
  // Of an https server, where what waits is counted before it is encrypted.
  server.on('secureConnection', add);
  const timer = setInterval(() => cutOff(sockets, max), CHECK_MS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

function cutOff(sockets: ReadonlySet<Socket>, max: number): void {
  let unread = 0;
  for (const { writableLength } of sockets) unread += writableLength;
  if (unread <= max) return;
  for (const socket of [...sockets].sort((one, other) => other.writableLength - one.writableLength)) {
    unread -= socket.writableLength;
    socket.destroy();
    if (unread <= max / 2) return;
  }
}
