// How long bodies may take: all of their time for most, and any time for what is large, while it comes and is wanted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BodyTimes } from '../../ts/cloud/gateway/front-server.js';
import { closeGateways, startGateway } from '../support/gateway.js';
import { parseReply, sendBytes } from '../support/raw-client.js';

const test = suite('cloud: times of bodies');

test.after.each(closeGateways);

/** The cloud itself, which says how much it was sent unless it refuses. Bodies under `/api/long` may take any time. */
function start(bodyTimes: BodyTimes) {
  const own = (asked: IncomingMessage, reply: ServerResponse): void => {
    if (asked.url?.endsWith('/refused')) reply.writeHead(403).end();
    let length = 0;
    asked.on('data', (data) => {
      length += data.length;
    });
    asked.once('end', () => {
      if (!reply.writableEnded) reply.end(String(length));
    });
  };
  const mayTakeLong = ({ url = '' }: IncomingMessage): boolean => url.startsWith('/api/long');
  return startGateway([], {}, { own, mayTakeLong, bodyTimes });
}

const half = (path: string, ...headers: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Length: 10', ...headers, '', 'hello'].join('\r\n');

function assertLate(read: string): void {
  const { statusCode, body } = parseReply(read);
  assert.equal([statusCode, JSON.parse(body).error.code], [408, 'request_timeout']);
}

/** A client that may send more later. */
function open(port: number, bytes: string): { socket: net.Socket; read: Promise<string> } {
  const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
  let read = '';
  socket.on('data', (data) => {
    read += data;
  });
  socket.on('error', () => undefined);
  return { socket, read: new Promise((resolve) => socket.on('close', () => resolve(read))) };
}

test('a body has a time in which all of it has to come, but for one that may be long', async () => {
  const { url, port } = await start({ totalMs: 50, silenceMs: 60_000 });
  const { socket, read } = open(port, half('/api/long', 'Connection: close'));
  assertLate(await sendBytes(url, half('/api/short')));
  socket.write('world');
  const { statusCode, body } = parseReply(await read);
  assert.equal([statusCode, body], [200, '10']);
});

test('a body that may be long ends with a 408 as well when it stops coming', async () => {
  const { url } = await start({ totalMs: 60_000, silenceMs: 50 });
  assertLate(await sendBytes(url, half('/api/long')));
});

test('a body that may be long ends with a 408 when it comes too slowly', async () => {
  const { port } = await start({ totalMs: 60_000, silenceMs: 1000 });
  const { socket, read } = open(port, half('/api/long').replace(': 10', ': 1000000'));
  const more = setInterval(() => socket.write('x'), 20);
  assertLate(await read);
  clearInterval(more);
});

test('the rest of a refused body is not read forever', async () => {
  const { port } = await start({ totalMs: 60_000, silenceMs: 50 });
  const { socket, read } = open(port, half('/api/long/refused').replace(': 10', ': 1000000'));
  const more = setInterval(() => socket.write('x'), 5);
  assert.is(parseReply(await read).statusCode, 403);
  clearInterval(more);
});

test.run();
