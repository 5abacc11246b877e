import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFrontServer } from '../../ts/cloud/gateway/front-server.js';
import { limitUnread } from '../../ts/http/connections.js';
import { until } from '../support/until.js';

const test = suite('http: replies that nobody reads');

const MIB = 2 ** 20;
/** More than what the system keeps of a connection. */
const LARGE = Buffer.alloc(16 * MIB, 'x');
const LIMIT = 48 * MIB;
const CLIENTS = 8;

/** Open handles of a failed test would keep the test run from ending. */
const closing: (() => void)[] = [];

test.after.each(() => {
  for (const close of closing.splice(0)) close();
});

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const SERVERS: Record<string, (handle: Handler) => http.Server> = {
  'an application': (handle) => {
    const server = http.createServer(handle);
    limitUnread(server, LIMIT);
    return server;
  },
  'the front of a cloud': (handle) => createFrontServer({ gateway: { handle }, own: handle, maxUnreadBytes: LIMIT }),
};

async function refusesToKeep(serve: (handle: Handler) => http.Server): Promise<void> {
  const sockets = new Set<net.Socket>();
  const streams: http.ServerResponse[] = [];
  const unread = () => [...sockets].reduce((sum, { writableLength }) => sum + writableLength, 0);
  let accepted = 0;
  let mostUnread = 0;
  const server = serve((request, response) => {
    if (request.url === '/large') response.end(LARGE);
    else response.write('first');
    if (request.url === '/stream') streams.push(response);
    mostUnread = Math.max(mostUnread, unread());
  });
  server.on('connection', (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  closing.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (path: string): net.Socket => {
    const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    return socket;
  };
  let text = '';
  const reader = ask('/stream').on('data', (piece) => {
    text += piece;
  });
  const silent = Array.from({ length: CLIENTS }, () => ask('/large').pause());
  await until(() => accepted > CLIENTS && mostUnread > LIMIT && unread() <= LIMIT, 'some are cut off');
  assert.ok(sockets.size < CLIENTS + 1);
  assert.ok(sockets.size > 1, 'and not all of them');
  await until(() => text.includes('first'), 'the stream begins');
  streams[0]?.end('last');
  await until(() => text.includes('last'), 'the stream goes on');
  for (const socket of [reader, ...silent]) socket.destroy();
}

for (const [name, serve] of Object.entries(SERVERS)) {
  test(`those of ${name} take so much memory and no more, and whoever reads is not cut off`, () =>
    refusesToKeep(serve));
}

test.run();
