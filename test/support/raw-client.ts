/** A client at the level of the socket: it can stop reading, and go away, at any moment. */
import net from 'node:net';
import { CHAT_PATH, chatBody } from './build-app.js';

export function sendChat(url: string, body: Record<string, unknown>): net.Socket {
  const { hostname, port } = new URL(url);
  const json = JSON.stringify(chatBody(body));
  const head = [
    `POST ${CHAT_PATH} HTTP/1.1`,
    `host: ${hostname}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
  ];
  const socket = net.connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n${json}`));
  socket.on('error', () => undefined);
  socket.resume();
  return socket;
}

export function openConnections(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
