/**
 * The HTTP server without its endpoints: hooks, guards, limits and errors. It does not listen and does not read the environment;
 * its callers do, so tests and all hosting modes get the same behaviour.
 */
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { MAX_TEXT_BYTES } from './body/limits.js';
import { readBodies } from './body/read-body.js';
import {
  cutOffUnreadReplies,
  Exchanges,
  HTTP_SETTINGS,
  limitConnections,
  limitUnread,
  REQUEST_TIMEOUT_MS,
  refuseTunnels,
  replyToBrokenHttp,
  replyToOddRequests,
  requestIdOf,
} from './connections.js';
import type { HttpContext, HttpOptions } from './context.js';
import { guardRequests } from './guards/guard-requests.js';
import { logSettings, observeRequests, reportUsage } from './observe-requests.js';
import { compilersFactory, validateBodies } from './validate-bodies.js';

export interface Endpoints {
  /** Routes below the base path. */
  routes: readonly RegisterRoutes[];
  /** Routes that also exist outside the base path, for load balancers and scrapers. */
  probes: readonly RegisterRoutes[];
  /** URLs that never need an API key. */
  openUrls: readonly string[];
  onError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

type RegisterRoutes = (app: FastifyInstance) => void;

/**
 * `close()` of the result lets running replies finish for `drainMs`, then ends them with an error. The pool stays open.
 * Throws `invalid_options` if the mode needs `access` and it is missing.
 */
export function createHttpApp(context: HttpContext, options: HttpOptions, endpoints: Endpoints): FastifyInstance {
  const { basePath, running, profile } = context;
  const exchanges = new Exchanges();
  const app: FastifyInstance = Fastify({
    ...transportOf(options),
    ...logSettings(context.log),
    // The default of routes that do not set their own limit.
    bodyLimit: Math.min(MAX_TEXT_BYTES, context.options.bodyLimit),
    genReqId: requestIdOf,
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: (error, socket) => replyToBrokenHttp(error, socket as Socket, exchanges),
    frameworkErrors: endpoints.onError,
    // All replies have ended after `drain`: the connections that are left are idle, or their request is incomplete.
    forceCloseConnections: true,
    // The timeout would also apply to closing, and end it after ten seconds.
    pluginTimeout: 0,
    // Fastify's own reply lacks our error envelope; a guard refuses these requests instead.
    return503OnClosing: false,
    // Clients join a base URL that ends in a slash with a path that begins with one.
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    schemaController: { compilersFactory },
  });
  app.setErrorHandler(endpoints.onError);
  app.addHook('onRequest', (request, reply, done) => exchanges.inTurn(request.raw, reply.raw, done));
  observeRequests(app, context);
  reportUsage(app);
  limitConnections(app.server);
  limitUnread(app.server);
  replyToOddRequests(app);
  refuseTunnels(app.server, exchanges);
  cutOffUnreadReplies(app, context.options.stallTimeoutMs);
  readBodies(app, profile, {
    maxBytes: context.options.bodyLimit,
    maxSilenceMs: options.bodySilenceMs,
    anyTypeBelow: `${basePath}/api/`,
  });
  validateBodies(app, () => running.isIdle);
  const known = guardRequests(app, context, options, endpoints.openUrls);
  app.addHook('preClose', () => running.drain(context.options.drainMs));
  if (basePath !== '') for (const register of endpoints.probes) register(app);
  app.register(
    async (scope) => {
      for (const register of endpoints.routes) register(scope);
    },
    { prefix: basePath },
  );
  options.routes?.(app, context);
  app.register(async (scope) => known.refuseOtherMethods(scope));
  return app;
}

/** Servers of `https` and `http` have the same interface for everything used here. */
function transportOf({ tls }: HttpOptions): { http: typeof HTTP_SETTINGS } {
  if (tls === undefined) return { http: HTTP_SETTINGS };
  return { https: { ...HTTP_SETTINGS, ...tls } } as object as { http: typeof HTTP_SETTINGS };
}
