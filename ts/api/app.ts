/** The application: one pool of models, one profile, and the endpoints of every dialect. */
import type { FastifyInstance } from 'fastify';
import { createHttpApp } from '../http/app.js';
import type { ModelPool } from '../models/pool.js';
import type { Profile } from '../profiles/profile.js';
import { messagesRoutes } from './anthropic/messages/handler.js';
import { cohereEmbedRoute } from './cohere/embed/handler.js';
import { type AppContext, type AppOptions, createContext } from './context.js';
import { errorsByPath } from './errors-by-path.js';
import { nativeCompletionRoutes } from './llama-server/completion/handler.js';
import { chatControlRoute } from './llama-server/control/handler.js';
import { nativeEmbeddingRoute } from './llama-server/embedding/handler.js';
import { nativeLibraryRoutes } from './llama-server/library/handler.js';
import { predictRoute } from './llama-server/predict/handler.js';
import { nativeStateRoutes } from './llama-server/state/handler.js';
import { resumableStreamRoutes } from './llama-server/stream/handler.js';
import { nativeTextRoutes } from './llama-server/texts/handler.js';
import { tokenizeRoutes } from './llama-server/tokenize/handler.js';
import { serverToolsRoute } from './llama-server/tools/handler.js';
import { addUnprefixedPaths } from './llama-server/unprefixed-paths.js';
import { lmStudioRoutes } from './lmstudio/handler.js';
import { ollamaCompletionRoutes } from './ollama/chat/handler.js';
import { ollamaEmbeddingRoutes } from './ollama/embed/handler.js';
import { ollamaLibraryRoutes } from './ollama/library/handler.js';
import { ollamaModelRoutes } from './ollama/models/handler.js';
import { audioRoutes } from './openai/audio/handler.js';
import { batchesRoutes } from './openai/batches/handler.js';
import { chatCompletionsRoute } from './openai/chat/handler.js';
import { completionsRoute } from './openai/completions/handler.js';
import { embeddingsRoute } from './openai/embeddings/handler.js';
import { filesRoutes } from './openai/files/handler.js';
import { modelEventsRoute } from './openai/models/events.js';
import { modelsRoutes } from './openai/models/handler.js';
import { rerankRoute } from './openai/rerank/handler.js';
import { responsesRoutes } from './openai/responses/handler.js';
import { responsesSocketRoute } from './openai/responses-socket/handler.js';
import { documentationRoutes } from './server/docs/handler.js';
import { healthRoute, LIVENESS_URL, livenessRoute } from './server/health/handler.js';
import { LIVE_URL, probeRoutes, READY_URL } from './server/health/probes.js';
import { METRICS_URL, metricsRoute } from './server/metrics/handler.js';
import { rootRoute } from './server/root/handler.js';
import { separateCaches } from './shared/owner.js';
import { tokenizerInfoRoute } from './vllm/tokenizer-info/handler.js';

/** The routes below the base path. */
const ROUTES: readonly ((app: FastifyInstance, context: AppContext) => void)[] = [
  separateCaches,
  documentationRoutes,
  rootRoute,
  modelsRoutes,
  modelEventsRoute,
  chatCompletionsRoute,
  responsesRoutes,
  audioRoutes,
  filesRoutes,
  batchesRoutes,
  messagesRoutes,
  completionsRoute,
  embeddingsRoute,
  rerankRoute,
  cohereEmbedRoute,
  tokenizeRoutes,
  tokenizerInfoRoute,
  healthRoute,
  probeRoutes,
  metricsRoute,
];

/** In modes that have the endpoints of other programs for a person's own machine. */
const LOCAL_ROUTES: typeof ROUTES = [
  responsesSocketRoute,
  ollamaCompletionRoutes,
  ollamaEmbeddingRoutes,
  ollamaModelRoutes,
  lmStudioRoutes,
  nativeCompletionRoutes,
  nativeEmbeddingRoute,
  nativeStateRoutes,
  nativeTextRoutes,
  chatControlRoute,
  predictRoute,
  resumableStreamRoutes,
  serverToolsRoute,
];

/** Load balancers, orchestrators and scrapers have no key. */
const OPEN_URLS = [LIVENESS_URL, LIVE_URL, READY_URL, METRICS_URL];

/** Throws `invalid_options` if the mode needs a deployment or `access`, and it is missing. */
export function buildApp(pool: ModelPool, profile: Profile, options: AppOptions = {}): FastifyInstance {
  const context = createContext(pool, profile, {
    onServerError: (error, requestId) => app.log.error({ id: requestId, err: error }, 'request failed'),
    ...options,
  });
  const { library, downloads } = context;
  const plugins = [
    ...(profile.hasLocalEndpoints ? [addUnprefixedPaths] : []),
    ...ROUTES,
    ...(profile.hasLocalEndpoints ? LOCAL_ROUTES : []),
    ...(library === undefined ? [] : [(scope: FastifyInstance) => ollamaLibraryRoutes(scope, context, library)]),
    ...(library && downloads
      ? [(scope: FastifyInstance) => nativeLibraryRoutes(scope, context, { library, downloads })]
      : []),
  ];
  const withContext = (routes: typeof ROUTES) =>
    routes.map((route) => (scope: FastifyInstance) => route(scope, context));
  const app = createHttpApp(context, options, {
    routes: withContext(plugins),
    probes: withContext([livenessRoute, probeRoutes, metricsRoute]),
    openUrls: OPEN_URLS,
    onError: errorsByPath(context),
  });
  return app;
}
