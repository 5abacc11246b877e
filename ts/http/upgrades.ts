/** Requests that offer another protocol. Only WebSocket is accepted. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

const OFFER = /^(upgrade|http2-settings)$/i;

/**
 * Returns an emitter of the `upgrade` events of WebSockets at these paths. With a listener for these events, Node treats every offer as
 * accepted. Java's client offers HTTP/2 with each request, so other requests are served as if they offered nothing.
 */
export function webSocketUpgrades(server: Server, paths: RegExp): EventEmitter {
  const upgrades = new EventEmitter();
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const { method, url = '', headers } = request;
    if (method === 'GET' && paths.test(url) && headers.upgrade?.toLowerCase() === 'websocket') {
      upgrades.emit('upgrade', request, socket, head);
    } else {
      serveWithoutOffer(server, request, socket, head);
    }
  });
  return upgrades;
}

/** Gives the request to Node's parser again. */
function serveWithoutOffer(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!OFFER.test(rawHeaders[at] as string)) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  // The first listener is Node's own. The others count connections.
  server.listeners('encrypted' in socket ? 'secureConnection' : 'connection')[0]?.call(server, socket);
}
