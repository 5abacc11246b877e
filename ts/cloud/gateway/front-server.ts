/** The HTTP server in front of the gateway: limits on connections and body times, and replies to invalid HTTP. */
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { invalidOptions } from '../../errors.js';
import {
  Exchanges,
  HTTP_SETTINGS,
  limitConnections,
  limitUnread,
  REQUEST_TIMEOUT_MS,
  refuseTunnels,
  replyToBrokenHttp,
} from '../../http/connections.js';
import { isLoopback } from '../../images/public-address.js';
import type { Certificate } from '../../server/certificate.js';
import { isCloudPath } from './app-address.js';
import type { Gateway } from './gateway.js';
import { hasBody } from './headers.js';

export interface BodyTimes {
  totalMs: number;
  /** In each such period, a long body must reach `MIN_BYTES_PER_SECOND`. */
  silenceMs: number;
}

const MIN_BYTES_PER_SECOND = 1024;

/** A busy disk can delay reading, which looks like silence. */
export const BODY_TIMES: BodyTimes = { totalMs: REQUEST_TIMEOUT_MS, silenceMs: 60_000 };

export interface FrontOptions {
  gateway: Pick<Gateway, 'handle'>;
  /** Handles `/` and paths with a reserved prefix. */
  own(request: IncomingMessage, response: ServerResponse): void;
  /** Whether a body has no total time limit; default: none. */
  mayTakeLong?(request: IncomingMessage): boolean;
  bodyTimes?: BodyTimes;
  /** Default: plain HTTP. */
  certificate?: Certificate | undefined;
  maxConnections?: number;
  /** Memory for replies that clients have not read; default: 512 MiB. */
  maxUnreadBytes?: number;
}

/** Returns a server that does not listen yet. */
export function createFrontServer(options: FrontOptions): Server {
  const { gateway, own, certificate, maxConnections, maxUnreadBytes } = options;
  const { mayTakeLong = () => false, bodyTimes = BODY_TIMES } = options;
  const settings = { ...HTTP_SETTINGS, requestTimeout: 0 };
  const server = certificate ? https.createServer({ ...settings, ...certificate.read() }) : http.createServer(settings);
  const exchanges = new Exchanges();
  const idle = limitConnections(server, maxConnections);
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (isCloudPath(request.url ?? '/')) own(request, response);
    else gateway.handle(request, response);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    limitBodyTime(request, response, { ...bodyTimes, isLong: mayTakeLong(request) }, () => {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      replyToBrokenHttp(late, request.socket, exchanges);
    });
    exchanges.inTurn(request, response, () => handle(request, response));
  };
  server.on('request', onRequest);
  // `100 Continue` is sent after authorization. Other expectations are ignored, as HTTP allows.
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

/**
 * Calls `onLate` when the body takes too long. With `isLong` only the rate counts, until the reply has ended.
 * Node has one limit per server, which would abort the upload of a large model over a slow connection.
 */
function limitBodyTime(
  request: IncomingMessage,
  response: ServerResponse,
  { totalMs, silenceMs, isLong }: BodyTimes & { isLong: boolean },
  onLate: () => void,
): void {
  if (!hasBody(request)) return;
  const { socket } = request;
  let read = socket.bytesRead;
  const check = (): void => {
    if (request.complete) return;
    const minBytes = (MIN_BYTES_PER_SECOND * silenceMs) / 1000;
    if (isLong && !response.writableEnded && socket.bytesRead >= read + minBytes) read = socket.bytesRead;
    else onLate();
  };
  const timer = setInterval(check, isLong ? silenceMs : totalMs);
  timer.unref();
  request.once('close', () => clearInterval(timer));
}

export interface ListenSettings {
  host: string;
  hasCertificate: boolean;
  /** A proxy in front terminates TLS. */
  trustProxy: boolean;
  /** Accept plain text. */
  insecure: boolean;
}

/** @throws {ChasquiError} `invalid_options` for a public address without TLS */
export function refusePlainPublicListen({ host, hasCertificate, trustProxy, insecure }: ListenSettings): void {
  if (hasCertificate || trustProxy || insecure || isLoopback(host)) return;
  const error = invalidOptions(
    `${host} is reachable from other machines, and clients would send their keys in plain text. Set \`tlsCert\` and ` +
      '`tlsKey`, or `trustProxy` if a proxy in front terminates TLS, or `insecure` to accept this.',
  );
  error.option = 'tlsCert';
  throw error;
}
