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
import { PipelinedRequests } from '../../http/pipelining.js';
import { limitUnread } from '../../http/unread-replies.js';
import type { Certificate } from '../../server/certificate.js';
import { isOwn } from './app-address.js';
import { BODY_TIMES, type BodyTimes, limitBodyTime } from './body-times.js';
import type { Gateway } from './gateway.js';

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

/** The caller listens. */
export function createFrontServer(options: FrontOptions): Server {
  const { gateway, own, certificate, maxConnections, maxUnreadBytes } = options;
  const { mayTakeLong = () => false, bodyTimes = BODY_TIMES } = options;
  const settings = { ...HTTP_SETTINGS, requestTimeout: 0 };
  const server = certificate ? https.createServer({ ...settings, ...certificate.read() }) : http.createServer(settings);
  const exchanges = new OpenExchanges();
  const idle = limitConnections(server, maxConnections);
  const pipelined = new PipelinedRequests();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    exchanges.add(request, response);
    if (isOwn(request.url ?? '/')) own(request, response);
    else gateway.handle(request, response);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    limitBodyTime(request, response, { ...bodyTimes, isLong: mayTakeLong(request) }, () => {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      replyToBrokenHttp(late, request.socket, exchanges);
    });
    pipelined.inTurn(request, response, () => handle(request, response));
  };
  server.on('request', onRequest);
  // A client that asks first is told to go on when it has been let in. Other expectations are ignored, as HTTP allows.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      idle.add(request.socket, response);
      onRequest(request, response);
    });
  }
  server.on('clientError', (error, socket) => replyToBrokenHttp(error, socket as Socket, exchanges));
  refuseTunnels(server, exchanges);
  limitUnread(server, maxUnreadBytes);
  const stopWatching = certificate?.watch((contents) => (server as https.Server).setSecureContext(contents));
  if (stopWatching) server.once('close', stopWatching);
  return server;
}
