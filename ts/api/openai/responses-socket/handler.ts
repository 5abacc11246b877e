/** The WebSocket on `/v1/responses`. Each message of a client is a request, and the events of its response are messages. */
import type { IncomingHttpHeaders } from 'node:http';
import websocket from '@fastify/websocket';
import type { FastifyInstance } from 'fastify';
import type { WebSocket } from 'ws';
import { ChasquiError } from '../../../errors.js';
import { MAX_TEXT_BYTES } from '../../../http/body/limits.js';
import { InjectedRequests } from '../../../http/injected-requests.js';
import { webSocketUpgrades } from '../../../http/upgrades.js';
import type { AppContext } from '../../context.js';
import { ResponseSocket } from './response-socket.js';

const PATH = '/v1/responses';
const PATHS = /\/v1\/+responses\/*(\?|$)/;
/** A connection may hold a message of `MAX_TEXT_BYTES`. */
const MAX_CONNECTIONS = 64;
const CLOSE_GRACE_MS = 1000;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

export function responsesSocketRoute(app: FastifyInstance, { options }: AppContext): void {
  const requests = new InjectedRequests(app);
  app.register(async (scope) => {
    await scope.register(websocket, {
      options: { server: webSocketUpgrades(app.server, PATHS) as never, maxPayload: MAX_TEXT_BYTES },
      errorHandler: (_error, socket) => socket.terminate(),
      preClose(done) {
        const { clients } = scope.websocketServer;
        for (const socket of clients) socket.close(GOING_AWAY);
        const terminate = () => {
          for (const socket of clients) socket.terminate();
        };
        setTimeout(terminate, CLOSE_GRACE_MS).unref();
        scope.websocketServer.close(() => done());
      },
    });
    scope.route({
      method: 'GET',
      url: PATH,
      exposeHeadRoute: false,
      onRequest: async ({ headers }, reply) => {
        // Browsers let any page open a WebSocket. The guard for CORS has added this header if it allows the origin.
        const isAllowed = reply.hasHeader('access-control-allow-origin') || isOwnPage(headers);
        if (headers.origin !== undefined && !isAllowed) {
          throw new ChasquiError('origin_not_allowed', 'Web pages of this origin cannot open a WebSocket.');
        }
      },
      handler: async (_request, reply) => {
        reply.header('allow', 'POST');
        throw new ChasquiError('method_not_allowed', `\`GET ${PATH}\` opens a WebSocket. Use POST for one response.`);
      },
      wsHandler: (socket: WebSocket, request) => {
        if (scope.websocketServer.clients.size > MAX_CONNECTIONS) {
          socket.close(TRY_AGAIN_LATER, `The limit of ${MAX_CONNECTIONS} open WebSockets is reached.`);
          return;
        }
        new ResponseSocket(socket, request, { requests, options });
      },
    });
  });
}

function isOwnPage({ origin = '', host }: IncomingHttpHeaders): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}
