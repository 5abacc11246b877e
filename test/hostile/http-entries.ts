/** Bodies and bytes that cost a server more than they cost their sender. */
import type { Entry, Sender } from './entry.js';
import { REFUSED } from './entry.js';
import { type Exchange, RawConnection, rawRequest, send, statusOf } from './send.js';

const CHAT = '/v1/chat/completions';
const MIB = 2 ** 20;
const LIMIT_MS = 10_000;

/** A body of the given size with a repeated unit. */
function large(name: string, unit: string, bytes: number): Entry {
  const sent = ({ port }: Sender) => send(port, CHAT, unit.repeat(Math.floor(bytes / unit.length)), LIMIT_MS);
  return { name, send: sent, statuses: REFUSED };
}

/** Sends raw bytes on a new connection and returns the received bytes. */
export function raw(name: string, bytes: string | Buffer, statuses?: readonly number[]): Entry {
  return {
    name,
    send: async ({ port }) => {
      const started = performance.now();
      const connection = await RawConnection.open(port);
      await connection.write(bytes);
      await connection.until(({ received, closed }) => closed || received.includes('\r\n\r\n'), LIMIT_MS);
      // The rest of a short reply comes with its head, or right after it.
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection.close();
      const { status, ms } = statusOf(connection.received, started);
      const body = connection.received.split('\r\n\r\n').slice(1).join('\r\n\r\n');
      return { status, text: body, ms };
    },
    ...(statuses && { statuses }),
  };
}

const question = (model: string, more: object = {}) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'Go on.' }], max_tokens: 20, ...more });

/** Clients that each send most of a large body and then nothing. */
async function unfinishedBodies({ port, model }: Sender): Promise<Exchange> {
  const connections: RawConnection[] = [];
  const written: Promise<void>[] = [];
  const part = Buffer.alloc(16 * MIB, 'a');
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${64 * MIB}\r\n\r\n`;
  try {
    for (let i = 0; i < 30; i++) {
      const connection = await RawConnection.open(port);
      connections.push(connection);
      written.push(connection.write(head), connection.write(part));
    }
    await Promise.race([Promise.all(written), new Promise((resolve) => setTimeout(resolve, 3000))]);
    return await send(port, CHAT, question(model), LIMIT_MS);
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function idleConnections({ port, model }: Sender): Promise<Exchange> {
  const connections: RawConnection[] = [];
  try {
    for (let i = 0; i < 500; i++) {
      const connection = await RawConnection.open(port).catch(() => null);
      if (connection === null) break;
      connections.push(connection);
      void connection.write('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ');
    }
    return await send(port, CHAT, question(model), LIMIT_MS);
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Invalid bytes after a request with a running stream. */
async function bytesIntoAStream({ port, model }: Sender): Promise<Exchange> {
  const started = performance.now();
  const connection = await RawConnection.open(port);
  await connection.write(rawRequest(CHAT, question(model, { stream: true, max_tokens: 200, ignore_eos: true })));
  await connection.until(({ received }) => received.includes('data: '), LIMIT_MS);
  await connection.write('\u0000\u0001 no request\r\n\r\n');
  await connection.until(({ closed, received }) => closed || received.includes('0\r\n\r\n'), LIMIT_MS);
  connection.close();
  const statusLines = connection.received.match(/HTTP\/1\.1 \d{3}/g) ?? [];
  const outcome = statusOf(connection.received, started);
  if (statusLines.length > 1) return { ...outcome, status: 0, text: `two replies in one: ${statusLines.join(', ')}` };
  return outcome;
}

/** Unread streams of about 10 MB, which exceed the socket buffers. */
async function unreadStreams({ port, model }: Sender): Promise<Exchange> {
  const connections: RawConnection[] = [];
  try {
    for (let i = 0; i < 4; i++) {
      const connection = await RawConnection.open(port);
      connections.push(connection);
      const body = question(model, {
        stream: true,
        max_tokens: 4000,
        ignore_eos: true,
        logprobs: true,
        top_logprobs: 20,
      });
      await connection.write(rawRequest(CHAT, body));
      await connection.until(({ received }) => received.includes('data: '), LIMIT_MS);
      connection.stopReading();
    }
    return await send(port, CHAT, question(model), LIMIT_MS);
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function cancelledAtOnce({ port, model }: Sender): Promise<Exchange> {
  for (let i = 0; i < 200; i++) {
    const connection = await RawConnection.open(port);
    await connection.write(rawRequest(CHAT, question(model, { stream: true })));
    if (i % 3 === 0) await connection.until(({ received }) => received.length > 0, 20);
    connection.close();
  }
  return send(port, CHAT, question(model), LIMIT_MS);
}

export const BODIES: readonly Entry[] = [
  large('63 MiB of opening brackets', '[', 63 * MIB),
  large('63 MiB of empty objects in a list', '{},', 63 * MIB),
  large('15 MiB of opening brackets', '[', 15 * MIB),
  {
    name: '15 MiB of empty objects as messages',
    send: ({ port }) => send(port, CHAT, `{"model":"m","messages":[${'{},'.repeat(5 * MIB)}{}]}`, LIMIT_MS),
    statuses: REFUSED,
  },
  {
    name: 'a million names in an object',
    send: ({ port }) => {
      const names = Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":0`).join(',');
      return send(port, CHAT, `{${names}}`, LIMIT_MS);
    },
    statuses: REFUSED,
  },
  { name: 'thirty unfinished bodies of 16 MiB', send: unfinishedBodies },
  { name: 'five hundred unfinished heads', send: idleConnections },
];

export const BROKEN_HTTP: readonly Entry[] = [
  { name: 'bytes into a running stream', send: bytesIntoAStream },
  { name: 'four streams that nobody reads', send: unreadStreams },
  { name: 'two hundred requests whose senders leave', send: cancelledAtOnce },
  raw('no HTTP at all', 'hello\r\n\r\n', [400]),
  raw('a request line of a megabyte', `GET /${'a'.repeat(MIB)} HTTP/1.1\r\n\r\n`),
  raw('headers of a megabyte', `GET /health HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(MIB)}\r\n\r\n`),
  raw(
    'two lengths',
    `POST ${CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n{}`,
    [400],
  ),
  raw(
    'a length and chunks',
    `POST ${CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ),
  raw(
    'a chunk of no size',
    `POST ${CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
    [400],
  ),
  raw('a body that is no UTF-8', rawRequest(CHAT, '{"model":"m\xff"}'), [400]),
  raw('a path of escapes', 'GET /%2e%2e/%00%ff/%zz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'),
];
