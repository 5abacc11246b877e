/** A client at the level of the socket: it can stop reading, and go away, at any moment. */
import net from 'node:net';
import { CHAT_PATH, chatBody } from './build-app.js';
import { until } from './until.js';

/** A chat request as bytes. */
export function chatText(body: Record<string, unknown>, hostname = 'localhost'): string {
  return requestText(CHAT_PATH, chatBody(body), hostname);
}

function requestText(path: string, body: Record<string, unknown>, hostname: string): string {
  const json = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${json}`;
}

export function sendChat(url: string, body: Record<string, unknown>): net.Socket {
  return sendRequest(url, CHAT_PATH, chatBody(body));
}

export function sendRequest(url: string, path: string, body: Record<string, unknown>): net.Socket {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname, () => socket.write(requestText(path, body, hostname)));
  socket.on('error', () => undefined);
  socket.resume();
  return socket;
}

export function openConnections(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}

export interface RawReply {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes, reads until the other side closes. */
export function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let reply = '';
    const socket = net.connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (data) => (reply += data));
    socket.on('close', () => resolve(reply));
    socket.on('error', reject);
  });
}

/** The first reply in what was read. */
export function parseReply(reply: string): RawReply {
  const [head = '', body = ''] = reply.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/, 2) as [string, string]));
  return { statusCode: Number(statusLine.split(' ')[1]), headers, body };
}

/**
 * Watches the connections that `server` accepts from now on. The function that it returns resolves when one of them has more
 * to write than its client reads.
 */
export function watchBackpressure(server: net.Server): () => Promise<void> {
  const sockets: net.Socket[] = [];
  server.on('connection', (socket: net.Socket) => sockets.push(socket));
  return () =>
    until(() => sockets.some((socket) => socket.writableNeedDrain), 'a connection that waits for its client');
}
