/** Limits and timeouts of connections, and the reply to bytes that are not an HTTP request. */
import { randomBytes } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import tls from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import { toErrorBody } from './error-handler.js';

/** Far above the limits of request queues, but low enough to bound buffers to a few hundred megabytes. */
const MAX_CONNECTIONS = 2048;

/** Timeout for the request line and the headers, which usually arrive in one or two packets. */
const HEADERS_TIMEOUT_MS = 20_000;

/** Timeout for a whole request, headers and body: 64 MiB in this time are 2 Mbit/s. */
export const REQUEST_TIMEOUT_MS = 300_000;

/** How often Node checks connections for these timeouts. */
const CHECK_INTERVAL_MS = 5_000;

/** Timeout for reading the error that ends the connection. */
const ERROR_GRACE_MS = 2_000;

/** In the header `x-request-id` of every reply, and beside every error in the log. */
export const REQUEST_ID_PREFIX = 'req_';

/** Settings of Node's server. */
export const HTTP_SETTINGS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_INTERVAL_MS,
  // Node's own error would not have our envelope; a hook below requires the header.
  requireHostHeader: false,
};

/**
 * Closes idle keep-alive connections when three quarters of the limit are in use. Connections of one address without a complete
 * request head take at most a quarter.
 */
export function limitConnections(server: Server, max = MAX_CONNECTIONS): IdleConnections {
  const idle = new IdleConnections(server);
  limitHeadless(server, max);
  server.maxConnections = max;
  server.on('connection', () => ifCrowded(server, max, () => idle.makeRoom()));
  return idle;
}

/** Three quarters of the limit leave time to make room before new connections are refused. */
function ifCrowded(server: Server, max: number, makeRoom: () => void): void {
  server.getConnections((_error, count) => {
    if (count > (max * 3) / 4) makeRoom();
  });
}

/** The head of a request follows its connection at once, but a busy server may read it later. */
const HEAD_GRACE_MS = 2000;

/** The same, while three quarters of the limit are in use. */
const CROWDED_GRACE_MS = 250;

/** Closes connections of an address beyond a quarter of `max` that have sent no complete request head. */
function limitHeadless(server: Server, max: number): void {
  const most = Math.ceil(max / 4);
  /** By address and port, because a TLS connection has two sockets. */
  const headless = new Map<string, Map<number, Socket>>();
  const forget = (address: string, port: number): void => {
    const own = headless.get(address);
    own?.delete(port);
    if (own?.size === 0) headless.delete(address);
  };
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address, remotePort: port } = socket;
    // Unix sockets have no address.
    if (address === undefined || port === undefined) return;
    const own = headless.get(address) ?? new Map<number, Socket>();
    headless.set(address, own.set(port, socket));
    socket.once('close', () => forget(address, port));
    if (own.size <= most) return;
    const close = () => {
      if (own.size > most && own.get(port) === socket) socket.destroy();
    };
    setTimeout(() => ifCrowded(server, max, close), CROWDED_GRACE_MS).unref();
    setTimeout(close, HEAD_GRACE_MS).unref();
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation', 'connect', 'upgrade']) {
    server.on(event, ({ socket: { remoteAddress = '', remotePort = 0 } }: IncomingMessage) => {
      // Later requests of a connection have nothing to forget.
      if (headless.get(remoteAddress)?.has(remotePort)) forget(remoteAddress, remotePort);
    });
  }
}

/** Sends our error envelope for requests that Node would answer itself. */
export function replyToOddRequests(app: FastifyInstance): void {
  // Expectations other than `100-continue` are ignored, as HTTP allows.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', async ({ raw }) => checkHostHeader(raw));
}

/**
 * Refuses several Host headers: Node uses the first, but a proxy in front may have used another.
 * @throws {ChasquiError} `bad_request`, as section 3.2 of RFC 9112 requires
 */
export function checkHostHeader({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ChasquiError('bad_request', 'The request has no Host header, which HTTP/1.1 demands.');
  }
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') count += 1;
  if (count > 1) throw new ChasquiError('bad_request', 'The request has several Host headers; send one.');
}

/**
 * A complete reply stays in memory until its client has read it. Closes the connection if the client reads nothing for
 * `timeoutMs`; 0 never does. Replies that are still being computed have a separate timeout (`EventOptions`).
 */
export function cutOffUnreadReplies(app: FastifyInstance, timeoutMs: number): void {
  if (timeoutMs === 0) return;
  app.addHook('onRequest', async (_request, { raw }) => {
    raw.once('prefinish', () => {
      if (raw.socket instanceof Socket) limitWait(raw, raw.socket, timeoutMs);
      else raw.once('socket', (socket: Socket) => limitWait(raw, socket, timeoutMs));
    });
  });
}

function limitWait(reply: ServerResponse, socket: Socket, timeoutMs: number): void {
  socket.setTimeout(timeoutMs);
  reply.once('finish', () => {
    // Node has set another timeout by now if the connection is idle. Otherwise a reply is being computed.
    if (socket.timeout === timeoutMs) socket.setTimeout(0);
  });
}

const BROKEN_HTTP: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request line and headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

/** Replies to CONNECT with an error; Node would close the connection without a reply. */
export function refuseTunnels(server: Server, exchanges: Exchanges): void {
  server.on('connect', (_request, socket) => {
    // Node no longer listens to this socket, and an unhandled `error` event would end the process.
    socket.on('error', () => socket.destroy());
    replyToBrokenHttp(new Error('CONNECT is for proxies, and this is none'), socket as Socket, exchanges);
  });
}

/** Replies to bytes that are not an HTTP request. Node has no response object for them, so the head is written here. */
export function replyToBrokenHttp(error: NodeJS.ErrnoException, socket: Socket, exchanges: Exchanges): void {
  if (error.code === 'ECONNRESET' || !socket.writable || exchanges.hasBegunReply(socket)) {
    socket.destroy();
    return;
  }
  const [code, message] = BROKEN_HTTP[error.code ?? ''] ?? ['bad_request', `This is not valid HTTP: ${error.message}.`];
  const body = JSON.stringify(toErrorBody(new ChasquiError(code, message)));
  const head = [
    `HTTP/1.1 ${ERRORS[code].status} ${STATUS_CODES[ERRORS[code].status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${REQUEST_ID_PREFIX}${randomBytes(16).toString('hex')}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.setTimeout(ERROR_GRACE_MS, () => socket.destroy());
}

/** How long a new connection counts as in use before its first request arrives. */
const FIRST_REQUEST_MS = 1000;

interface Connection {
  /** By `performance.now()`. */
  since: number;
  /** Whether a request has arrived. */
  hasAsked: boolean;
  replies: number;
  /** Bytes read by the end of the last reply. A higher count means that a request has begun to arrive. */
  read: number;
}

/** Replaces the server's `closeIdleConnections`, which `close()` calls, by one that never cuts off a request. */
export class IdleConnections {
  readonly #connections = new Map<Socket, Connection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Server) {
    server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#connections.set(socket, { since: performance.now(), hasAsked: false, replies: 0, read: socket.bytesRead });
      socket.once('close', () => this.#connections.delete(socket));
    });
    server.on('request', (request, response) => this.add(request.socket, response));
    server.closeIdleConnections = () => this.#closeIdle();
  }

  /** For requests that arrive with another event than `request`. */
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

  /** Closes idle connections that have had at least one request. */
  makeRoom(): void {
    this.#close(({ hasAsked }) => hasAsked);
  }

  #closeIdle(): void {
    const now = performance.now();
    const isNew = ({ hasAsked, since }: Connection) => !hasAsked && now - since < FIRST_REQUEST_MS;
    this.#close((connection) => !isNew(connection));
    if (this.#timer !== undefined || ![...this.#connections.values()].some(isNew)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#closeIdle();
    }, FIRST_REQUEST_MS).unref();
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
 * For a server that no longer accepts connections: closes each connection once its input is read, and the remaining
 * ones after `graceMs`.
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

/** Waiting requests per connection. */
const MAX_WAITING = 64;

/**
 * Serves pipelined requests of a connection one at a time; otherwise a connection could exceed limits per request and
 * per connection. A connection with more than 64 waiting requests is closed.
 */
export class Exchanges {
  readonly #waiting = new WeakMap<Socket, number>();
  /** The latest exchange of each connection that had its turn. Its request may still arrive after its reply was sent. */
  readonly #current = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>();

  /** Calls `handle` after all earlier replies have ended, or never if the client disconnects before. */
  inTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    // Node assigns the socket to the first reply in the queue.
    if (response.socket !== null) {
      this.#current.set(socket, { request, response });
      handle();
      return;
    }
    const count = (this.#waiting.get(socket) ?? 0) + 1;
    this.#waiting.set(socket, count);
    if (count > MAX_WAITING) {
      socket.destroy();
      return;
    }
    response.once('socket', () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1);
      if (!socket.destroyed) this.inTurn(request, response, handle);
    });
  }

  /** Whether an error written now would end up in the middle of a reply, or after the last one. */
  hasBegunReply(socket: Socket): boolean {
    const last = this.#current.get(socket);
    return last?.response.headersSent === true && !(last.request.complete && last.response.writableFinished);
  }
}

const MAX_UNREAD_BYTES = 512 * 2 ** 20;
const CHECK_MS = 500;

export function limitUnread(server: Server, max = MAX_UNREAD_BYTES): void {
  const sockets = new Set<Socket>();
  const add = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', add);
  // For https, the TLS socket counts the unsent bytes before encryption.
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

/**
 * The id that a gateway has given the request, if it came through a Unix socket, which has no remote address. Only the
 * gateway can connect to it.
 */
export function requestIdOf({ socket, headers }: Pick<IncomingMessage, 'headers'> & { socket?: Socket }): string {
  const given = headers['x-request-id'];
  const isNamed = socket?.remoteAddress === undefined && typeof given === 'string' && GATEWAY_ID.test(given);
  return isNamed ? given : `${REQUEST_ID_PREFIX}${randomBytes(16).toString('hex')}`;
}

const GATEWAY_ID = /^req_[0-9a-f]{32}$/;
