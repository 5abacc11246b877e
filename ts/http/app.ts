/**
 * The HTTP application: one pool of models, one profile, every route. It neither listens nor reads the environment;
 * its callers do, so tests and all hosting modes get the same behaviour.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ModelPool } from '../models/pool.js';
import { newId } from '../new-id.js';
import type { Profile } from '../profiles/profile.js';
import { MAX_TEXT_BYTES } from './body/limits.js';
import { readBodies } from './body/read-bodies.js';
import {
  cutOffUnreadReplies,
  HTTP_SETTINGS,
  limitConnections,
  OpenExchanges,
  REQUEST_ID_PREFIX,
  REQUEST_TIMEOUT_MS,
  refuseTunnels,
  replyToBrokenHttp,
  replyToOddRequests,
} from './connections.js';
import { type AppContext, type AppOptions, createContext } from './context.js';
import { errorHandler } from './error-handler.js';
import { guardRequests } from './guards/guard-requests.js';
import { observeRequests } from './observe-requests.js';
import { PipelinedRequests } from './pipelining.js';
import { reportUsage } from './report-usage.js';
import { logSettings } from './request-log.js';
import { chatCompletionsRoute } from './routes/chat-completions.js';
import { completionsRoute } from './routes/completions.js';
import { documentationRoutes } from './routes/documentation.js';
import { embeddingsRoute } from './routes/embeddings.js';
import { healthRoute, LIVENESS_URL, livenessRoute } from './routes/health.js';
import { nativeCompletionRoutes } from './routes/llamaserver-completions.js';
import { nativeStateRoutes } from './routes/llamaserver-state.js';
import { nativeTextRoutes } from './routes/llamaserver-texts.js';
import { lmStudioRoutes } from './routes/lmstudio.js';
import { messagesRoutes } from './routes/messages.js';
import { METRICS_URL, metricsRoute } from './routes/metrics.js';
import { modelEventsRoute } from './routes/model-events.js';
import { modelsRoutes } from './routes/models.js';
import { ollamaCompletionRoutes } from './routes/ollama-completions.js';
import { ollamaEmbeddingRoutes } from './routes/ollama-embeddings.js';
import { ollamaLibraryRoutes } from './routes/ollama-library.js';
import { ollamaModelRoutes } from './routes/ollama-models.js';
import { errorsByPath } from './routes/ollama-settings.js';
import { LIVE_URL, probeRoutes, READY_URL } from './routes/probes.js';
import { rerankRoute } from './routes/rerank.js';
import { responsesRoutes } from './routes/responses.js';
import { rootRoute } from './routes/root.js';
import { tokenizeRoutes } from './routes/tokenize.js';
import { limitUnread } from './unread-replies.js';
import { validateBodies } from './validate-bodies.js';

/** The routes below the base path. */
const ROUTES: readonly ((app: FastifyInstance, context: AppContext) => void)[] = [
  documentationRoutes,
  rootRoute,
  modelsRoutes,
  modelEventsRoute,
  chatCompletionsRoute,
  responsesRoutes,
  messagesRoutes,
  completionsRoute,
  embeddingsRoute,
  rerankRoute,
  tokenizeRoutes,
  healthRoute,
  probeRoutes,
  metricsRoute,
];

/** In modes that have the endpoints of other programs for a person's own machine. */
const LOCAL_ROUTES: typeof ROUTES = [
  ollamaCompletionRoutes,
  ollamaEmbeddingRoutes,
  ollamaModelRoutes,
  lmStudioRoutes,
  nativeCompletionRoutes,
  nativeStateRoutes,
  nativeTextRoutes,
];

/** Load balancers, orchestrators and scrapers have no key. */
const OPEN_URLS = [LIVENESS_URL, LIVE_URL, READY_URL, METRICS_URL];

/**
 * `close()` of the result lets running replies finish for `drainMs`, then ends them with an error; the pool
 * stays open. Throws `invalid_options` where the mode needs a deployment or to know who has access, and is not told.
 */
export function buildApp(pool: ModelPool, profile: Profile, options: AppOptions = {}): FastifyInstance {
  const context = createContext(pool, profile, {
    onServerError: (error, requestId) => app.log.error({ id: requestId, err: error }, 'request failed'),
    ...options,
  });
  const { basePath, running } = context;
  const onError = profile.hasLocalEndpoints ? errorsByPath(context) : errorHandler(context.options);
  const exchanges = new OpenExchanges();
  const app: FastifyInstance = Fastify({
    ...transportOf(options),
    ...logSettings(context.log),
    // This is the limit of routes that do not set their own.
    bodyLimit: Math.min(MAX_TEXT_BYTES, context.options.bodyLimit),
    genReqId: requestIdOf,
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: (error, socket) => replyToBrokenHttp(error, socket as Socket, exchanges),
    frameworkErrors: onError,
    // After `drain` every reply is over. Connections that are still open are idle, or their request is incomplete.
    forceCloseConnections: true,
    // It would hold for closing as well, and end it after ten seconds, whatever is still running.
    pluginTimeout: 0,
    // Fastify's own reply would not have our envelope; a hook of the guards refuses requests instead.
    return503OnClosing: false,
    // Clients join a base URL that ends in a slash with a path that begins with one.
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
  });
  app.setErrorHandler(onError);
  const pipelined = new PipelinedRequests();
  app.addHook('onRequest', (request, reply, done) => pipelined.inTurn(request.raw, reply.raw, done));
  observeRequests(app, context);
  reportUsage(app);
  limitConnections(app.server);
  limitUnread(app.server);
  replyToOddRequests(app);
  refuseTunnels(app.server, exchanges);
  exchanges.watch(app);
  cutOffUnreadReplies(app, context.options.stallTimeoutMs);
  readBodies(app, profile, { maxBytes: context.options.bodyLimit, maxSilenceMs: options.bodySilenceMs });
  validateBodies(app);
  const endpoints = guardRequests(app, context, options, OPEN_URLS);
  app.addHook('preClose', () => running.drain(context.options.drainMs));
  if (basePath !== '') for (const route of [livenessRoute, probeRoutes, metricsRoute]) route(app, context);
  app.register(
    async (scope) => {
      for (const route of ROUTES) route(scope, context);
      if (profile.hasLocalEndpoints) for (const route of LOCAL_ROUTES) route(scope, context);
      if (context.library !== undefined) ollamaLibraryRoutes(scope, context, context.library);
    },
    { prefix: basePath },
  );
  options.routes?.(app, context);
  app.register(async (scope) => endpoints.refuseOtherMethods(scope));
  return app;
}

/** What `https` makes differs in nothing that is used here from what `http` makes. */
function transportOf({ tls }: AppOptions): { http: typeof HTTP_SETTINGS } {
  if (tls === undefined) return { http: HTTP_SETTINGS };
  return { https: { ...HTTP_SETTINGS, ...tls } } as object as { http: typeof HTTP_SETTINGS };
}

/**
 * A gateway on this machine has named the request already, and its name is in the gateway's reply. It comes through a Unix
 * socket, which has no addresses, as does nobody whom the machine's owner has not let in.
 */
function requestIdOf({ socket, headers }: { socket?: Socket; headers: IncomingMessage['headers'] }): string {
  const given = headers['x-request-id'];
  const isNamed = socket?.remoteAddress === undefined && typeof given === 'string' && GATEWAY_ID.test(given);
  return isNamed ? given : newId(REQUEST_ID_PREFIX);
}

const GATEWAY_ID = /^req_[0-9a-f]{32}$/;
