/** Node's server in front of the gateway: how many connections, how long they may take, and what is no request at all. */
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import {
  HTTP_SETTINGS,
  limitConnections,
  OpenExchanges,
  refuseTunnels,
  replyToBrokenHttp,
} from '../../http/connections.js';
import { limitUnread } from '../../http/unread-replies.js';
import type { Certificate } from '../../server/certificate.js';
import { isOwn } from './app-address.js';
import { BODY_TIMES, type BodyTimes, limitBodyTime } from './body-times.js';
import type { Gateway } from './gateway.js';
import { IdleConnections } from './idle-connections.js';

export interface FrontOptions {
  gateway: Pick<Gateway, 'handle'>;
  /** Handles what is the cloud's own: paths that begin with a reserved name, and `/`. */
  own(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the body of a request may take any time, as long as some of it comes and it is wanted. Default: of none. */
  mayTakeLong?(request: IncomingMessage): boolean;
  bodyTimes?: BodyTimes;
  /** Default: plain HTTP. */
  certificate?: Certificate | undefined;
  maxConnections?: number;
  /** Of all replies that clients have not read; default 512 MiB. */
  maxUnreadBytes?: number;
}

/** Requests that a client may send before it has the replies to earlier ones. */
const MAX_PIPELINED = 32;

/** The caller listens. */
export function createFrontServer(options: FrontOptions): Server {
  const { gateway, own, certificate, maxConnections, maxUnreadBytes } = options;
  const { mayTakeLong = () => false, bodyTimes = BODY_TIMES } = options;
  const settings = { ...HTTP_SETTINGS, requestTimeout: 0 };
  const server = certificate ? https.createServer({ ...settings, ...certificate.read() }) : http.createServer(settings);
  const exchanges = new OpenExchanges();
  const idle = new IdleConnections(server, certificate ? 'secureConnection' : 'connection');
  const waiting = new WeakMap<Socket, number>();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (isOwn(request.url ?? '/')) own(request, response);
    else gateway.handle(request, response);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    exchanges.add(request, response);
    idle.add(request.socket, response);
    limitBodyTime(request, response, { ...bodyTimes, isLong: mayTakeLong(request) }, () => {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      replyToBrokenHttp(late, request.socket, exchanges);
    });
    if (response.socket !== null) handle(request, response);
    else waitForTurn(waiting, request, response, () => handle(request, response));
  };
  server.on('request', onRequest);
  // A client that asks first is told to go on when it has been let in. Other expectations are ignored, as HTTP allows.
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error, socket) => replyToBrokenHttp(error, socket as Socket, exchanges));
  refuseTunnels(server, exchanges);
  limitConnections(server, maxConnections);
  limitUnread(server, maxUnreadBytes);
  const stopWatching = certificate?.watch((contents) => (server as https.Server).setSecureContext(contents));
  if (stopWatching) server.once('close', stopWatching);
  return server;
}

/** Pipelined requests are served one after another, so that one connection has no more than one at a time. */
function waitForTurn(
  waiting: WeakMap<Socket, number>,
  request: IncomingMessage,
  response: ServerResponse,
  handle: () => void,
): void {
  const { socket } = request;
  const count = (waiting.get(socket) ?? 0) + 1;
  waiting.set(socket, count);
  if (count > MAX_PIPELINED) {
    socket.destroy();
    return;
  }
  response.once('socket', () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    handle();
  });
}
