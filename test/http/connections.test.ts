import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limitConnections } from '../../ts/http/connections.js';
import { closeApps, listeningApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { chatText, openConnections, parseReply, sendBytes } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('http: connections');

test.after.each(closeApps);

const LIMIT = 20;
/** More than the system's buffers take. */
const LONG = Buffer.alloc(20 * 2 ** 20);

async function limitedServer(): Promise<http.Server> {
  const server = http.createServer((_request, response) => response.end('here'));
  limitConnections(server, LIMIT);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function connectTo(server: net.Server): net.Socket {
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
}

test('more connections than the limit are turned away, and the others go on', async () => {
  const server = await limitedServer();
  const sockets = Array.from({ length: LIMIT }, () => connectTo(server));
  await until(async () => (await openConnections(server)) === LIMIT, 'all are connected');
  const turnedAway = connectTo(server);
  await new Promise((resolve) => turnedAway.once('close', resolve));
  sockets[3]?.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await new Promise((resolve) => sockets[3]?.once('data', resolve));
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('connections that wait for their next request make room for new ones', async () => {
  const server = await limitedServer();
  const idle = Array.from({ length: LIMIT }, () => connectTo(server));
  let replies = 0;
  for (const socket of idle) {
    socket.on('data', () => (replies += 1));
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => replies > 0 || socket.destroyed, 'the reply is there');
    replies = 0;
  }
  const late = connectTo(server);
  late.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  let reply = '';
  late.on('data', (data) => (reply += data));
  await until(() => reply !== '' || late.destroyed, 'it is answered or turned away');
  assert.match(reply, /^HTTP\/1\.1 200 /);
  for (const socket of idle) socket.destroy();
  server.close();
});

test('connections of one address that send no request make room for others', async () => {
  const server = await limitedServer();
  const silent = Array.from({ length: LIMIT }, () => connectTo(server));
  for (const socket of silent) socket.write('GET / HTTP/1.1\r\n');
  await until(async () => (await openConnections(server)) === LIMIT, 'all are connected');
  await until(async () => (await openConnections(server)) === LIMIT / 4, 'a quarter is left');
  const late = connectTo(server);
  late.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await new Promise((resolve) => late.once('data', resolve));
  for (const socket of [late, ...silent]) socket.destroy();
  server.close();
});

test('silent connections make room sooner while the server is crowded', async () => {
  const server = await limitedServer();
  const silent = Array.from({ length: LIMIT }, () => connectTo(server));
  await until(async () => (await openConnections(server)) === LIMIT, 'all are connected');
  // Timers of one process end in order, even on a busy machine: this one ends after 250 ms and before the usual 2 s.
  const count = await new Promise<number>((resolve) => {
    setTimeout(() => server.getConnections((_error, open) => resolve(open)), 300);
  });
  assert.ok(count <= (LIMIT * 3) / 4, `${count} are open`);
  for (const socket of silent) socket.destroy();
  server.close();
});

test('a reply that its client has still to read is not cut off to make room', async () => {
  const server = http.createServer(({ url }, response) => response.end(url === '/long' ? LONG : 'here'));
  limitConnections(server, LIMIT);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const slow = connectTo(server);
  slow.write('GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await new Promise((resolve) => slow.once('readable', resolve));
  const others = Array.from({ length: LIMIT - 1 }, () => connectTo(server).resume());
  for (const socket of others) socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await until(() => others.every((socket) => socket.bytesRead > 0 || socket.destroyed), 'all are answered');
  connectTo(server).destroy();
  await until(() => others.some(({ destroyed }) => destroyed), 'those that have their reply made room');
  let bytes = 0;
  slow.on('data', (data) => (bytes += data.length));
  await until(() => bytes > LONG.length || slow.destroyed, 'it has been read');
  assert.ok(bytes > LONG.length, `${bytes} bytes`);
  for (const socket of [slow, ...others]) socket.destroy();
  server.close();
});

test('the server has these limits', async () => {
  const { app } = await listeningApp();
  assert.is(app.server.maxConnections, 2048);
  assert.is(app.server.headersTimeout, 20_000);
  assert.is(app.server.requestTimeout, 300_000);
});

test('a connection that never says what it wants is told so and closed', async () => {
  const { app, url } = await listeningApp();
  app.server.headersTimeout = 100;
  const [silent, begun] = await Promise.all([sendBytes(url, ''), sendBytes(url, 'GET /v1/models HTTP/1.1\r\nhost: x')]);
  expectError(parseReply(silent), { status: 408, code: 'request_timeout' });
  expectError(parseReply(begun), { status: 408, code: 'request_timeout' });
});

test('a client that does not hang up after its refusal is hung up on', async () => {
  const { app, url } = await listeningApp();
  const socket = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write('nonsense\r\n\r\n');
  socket.resume();
  await new Promise((resolve) => socket.once('end', resolve));
  await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  socket.destroy();
});

test('a connection has one request at a time, and is closed when many more wait', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  let received = 0;
  app.server.on('request', () => (received += 1));
  socket.write(chatText({}).repeat(65));
  await until(() => received === 65, 'all requests are there');
  await until(() => engine.running.size > 0, 'the first one is computed');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal([engine.running.size, socket.destroyed], [1, false]);
  socket.write(chatText({}));
  await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  await until(() => engine.running.size === 0, 'the first one is computed no more');
});

test('an expectation that nobody knows is passed over', async () => {
  const { url } = await listeningApp();
  const text = chatText({}).replace('\r\n', '\r\nexpect: a miracle\r\nconnection: close\r\n');
  assert.match(await sendBytes(url, text), /^HTTP\/1\.1 200 .*Hello!/s);
});

test('CONNECT is refused with an error', async () => {
  const { url } = await listeningApp();
  const reply = parseReply(await sendBytes(url, 'CONNECT other.example:443 HTTP/1.1\r\nhost: other.example\r\n\r\n'));
  expectError(reply, { status: 400, code: 'bad_request', says: /CONNECT is for proxies/ });
});

test('a client that sends CONNECT and disconnects does no harm', async () => {
  const { app, url } = await listeningApp();
  for (const waitsForReply of [false, true]) {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('CONNECT other.example:443 HTTP/1.1\r\nhost: other.example\r\n\r\n');
    if (waitsForReply) await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
    await until(async () => (await openConnections(app.server)) === 0, 'the connection is closed');
  }
  assert.match(await sendBytes(url, chatText({}).replace('\r\n', '\r\nconnection: close\r\n')), /^HTTP\/1\.1 200 /);
});

test('a request without a Host header is refused in our words', async () => {
  const { url } = await listeningApp();
  const reply = await sendBytes(url, 'GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n');
  expectError(parseReply(reply), { status: 400, code: 'bad_request', says: /Host header/ });
  assert.match(await sendBytes(url, 'GET /v1/models HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
});

test('a request with two Host headers is refused, whatever they say', async () => {
  const { url } = await listeningApp();
  for (const version of ['1.0', '1.1']) {
    for (const second of ['Host: localhost', 'hOST: evil.example', 'Host:']) {
      const head = `GET /v1/models HTTP/${version}\r\nHost: localhost\r\nconnection: close\r\n${second}\r\n\r\n`;
      const reply = parseReply(await sendBytes(url, head));
      expectError(reply, { status: 400, code: 'bad_request', says: /several Host headers/ });
    }
  }
});

test('a new connection is served when the server stops listening before its request arrives', async () => {
  const server = http.createServer((_request, reply) => reply.end('served'));
  limitConnections(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(server, 'connection');
  const closed = once(server, 'close');
  server.close();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.match((await socket.toArray()).join(''), /served/);
  await closed;
});

test.run();
