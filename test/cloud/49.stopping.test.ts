// Shutdown of the cloud and closing of idle connections: replies that have started complete.
import http from 'node:http';
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endConnections } from '../../ts/http/connections.js';
import { closeGateways, KEY, startGateway, startRunner, TestDeployment } from '../support/gateway.js';
import { startOwnCloud } from '../support/own-cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: stopping');

test.after.each(closeGateways);

/** More than the system keeps between two processes. */
const BYTES = 48 * 2 ** 20;
const head = () => `GET /acme/chat/v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Key ${KEY}\r\n\r\n`;

test('a client that has not read the end of its reply is no idle one', async () => {
  let isOver = false;
  const gateway = await startGateway(
    [],
    {},
    {
      own: (_request, response) => {
        response.end(Buffer.alloc(BYTES));
        isOver = true;
      },
    },
  );
  let read = 0;
  const socket = net.connect(gateway.port, '127.0.0.1', () => socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'));
  socket.on('error', () => undefined);
  socket.pause();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await until(() => isOver, 'the reply has ended');
  gateway.server.closeIdleConnections();
  gateway.server.close();
  socket.on('data', (data) => {
    read += data.length;
  });
  socket.resume();
  await until(() => read > BYTES, 'it gets all of it');
  await endConnections(gateway.server, 5000);
  await closed;
});

test('connections that wait for their next request are closed, those with a request are not', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const open = async (text: string) => {
    const socket = net.connect(gateway.port, '127.0.0.1');
    const state = { socket, read: '', closed: false };
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      state.read += data;
    });
    socket.once('close', () => {
      state.closed = true;
    });
    socket.write(text);
    return state;
  };
  const body = JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'x' }] });
  const idle = await open(head());
  const begun = await open(head().slice(0, -10));
  const running = await open(
    `POST /acme/chat/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Key ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => idle.read.endsWith('}') && engine.running.size === 1, 'one has its reply, another is computed');
  gateway.server.closeIdleConnections();
  await until(() => idle.closed, 'the idle one is closed');
  assert.not(begun.closed || running.closed);
  begun.socket.destroy();
  running.socket.destroy();
  await until(() => engine.cancelled === 1, 'the runner computes no more');
});

test('the live streams of the pages end whole when the cloud stops', async () => {
  const own = await startOwnCloud();
  const cookie = [...own.visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  let text = '';
  const ended = new Promise<boolean>((resolve, reject) => {
    http.get(`${own.cloud.url}/dashboard/live/changes`, { headers: { cookie } }, (response) => {
      response.setEncoding('utf8').on('data', (data) => {
        text += data;
      });
      response.once('error', reject).once('end', () => resolve(response.complete));
    });
  });
  await until(() => text.includes('retry:'), 'the stream has begun');
  await own.end();
  assert.is(await ended, true);
  assert.equal(own.errors, []);
});

test.run();
