/**
 * The HTTP application: one engine, one profile, every route. It neither listens nor reads the environment; whoever
 * builds it does, so tests and all hosting modes get the same behaviour.
 */
import type { Socket } from 'node:net';
import { Ajv, type ErrorObject } from 'ajv';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Engine } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import type { Profile } from '../profiles/profile.js';
import { demandKey, type KeyCheck } from './authentication.js';
import { basePathOf, type Deployment } from './base-path.js';
import { LARGEST_TEXT } from './body/limits.js';
import { readBodies } from './body/read-bodies.js';
import {
  answerBrokenHttp,
  answerOddRequests,
  cutOffUnreadReplies,
  HTTP_SETTINGS,
  limitConnections,
  OpenExchanges,
  REQUEST_TIMEOUT_MS,
} from './connections.js';
import { allowOrigins } from './cors.js';
import { errorHandler, type FaultListener } from './error-handler.js';
import { checkHostHeader } from './host-header.js';
import { Endpoints } from './not-found.js';
import { newRequestId } from './request-id.js';
import { chatCompletionsRoute } from './routes/chat-completions.js';
import { completionsRoute } from './routes/completions.js';
import { documentationRoutes } from './routes/documentation.js';
import { embeddingsRoute } from './routes/embeddings.js';
import { healthRoute, LIVENESS_URL, livenessRoute } from './routes/health.js';
import { messagesRoutes } from './routes/messages.js';
import { modelsRoutes } from './routes/models.js';
import { rerankRoute } from './routes/rerank.js';
import { responsesRoutes } from './routes/responses.js';
import { rootRoute } from './routes/root.js';
import { tokenizeRoutes } from './routes/tokenize.js';
import { RunningReplies, shuttingDown } from './running-replies.js';
import { toValidationError } from './validation-error.js';

/** All that lies below the base path. */
const ROUTES: readonly ((app: FastifyInstance, context: AppContext) => void)[] = [
  documentationRoutes,
  rootRoute,
  modelsRoutes,
  chatCompletionsRoute,
  responsesRoutes,
  messagesRoutes,
  completionsRoute,
  embeddingsRoute,
  rerankRoute,
  tokenizeRoutes,
  healthRoute,
];

export interface AppOptions {
  /** Refuse unknown fields instead of ignoring them; default false. */
  strict?: boolean;
  /** The largest body in bytes, its images included; default the profile's. */
  bodyLimit?: number;
  /** Milliseconds of silence in a stream before a comment is sent; default 10,000. */
  keepAliveMs?: number;
  /** Milliseconds that a client may leave a stream unread before it is cut off; default 600,000. 0 is for ever. */
  stallTimeoutMs?: number;
  /** Milliseconds that a client may send nothing in the middle of its body; default 20,000. */
  bodySilenceMs?: number;
  /** Milliseconds that `close()` lets running replies go on; default 0. */
  drainMs?: number;
  /** Where images may be fetched from; default: public hosts, and loopback where the profile allows it. */
  imageHosts?: ImageHosts;
  /** Told of faults of the server itself; default none. */
  onFault?: FaultListener;
  /** What the base path is made of, in modes that have one. */
  deployment?: Deployment;
  /** Who may use it, in modes that ask for a key: everybody, or those whose key this accepts. There is no default. */
  access?: 'public' | KeyCheck;
  /** Origins whose pages may use the server, `*` or `local`; default the profile's. */
  corsOrigins?: readonly string[];
  /** Names that the server goes by beside `localhost` and addresses, or `*`; default none. */
  allowedHosts?: readonly string[];
}

/** What the routes are made of. */
export interface AppContext {
  engine: Engine;
  profile: Profile;
  options: RouteOptions;
  running: RunningReplies;
  /** What the paths of all routes begin with; empty in the local modes. */
  basePath: string;
}

type RouteOptions = Required<
  Pick<AppOptions, 'strict' | 'bodyLimit' | 'keepAliveMs' | 'stallTimeoutMs' | 'drainMs' | 'imageHosts' | 'onFault'>
>;

const DEFAULTS: Omit<RouteOptions, 'imageHosts' | 'bodyLimit'> = {
  strict: false,
  keepAliveMs: 10_000,
  stallTimeoutMs: 600_000,
  drainMs: 0,
  onFault: () => undefined,
};

/**
 * `close()` of the result lets running replies finish for `drainMs`, then ends them with an error; the engine stays open.
 * Throws `invalid_options` where the mode needs a deployment or to know who has access, and is not told.
 */
export function buildApp(engine: Engine, profile: Profile, options: AppOptions = {}): FastifyInstance {
  const basePath = basePathOf(profile, options.deployment);
  const running = new RunningReplies();
  const imageHosts = profile.allowsLoopbackImageHosts ? 'loopback' : 'public';
  const context: AppContext = {
    engine,
    profile,
    options: { ...DEFAULTS, imageHosts, bodyLimit: profile.bodyLimit, ...options },
    running,
    basePath,
  };
  const onError = errorHandler(context.options.onFault);
  const exchanges = new OpenExchanges();
  const app = Fastify({
    // Of routes that do not ask for more.
    bodyLimit: Math.min(LARGEST_TEXT, context.options.bodyLimit),
    genReqId: newRequestId,
    http: HTTP_SETTINGS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: (fault, socket) => answerBrokenHttp(fault, socket as Socket, exchanges),
    frameworkErrors: onError,
    // After `drain` every reply is over: what is still open then is idle, or a request that has not arrived in full.
    forceCloseConnections: true,
    // Its body would not be our envelope; a hook below answers instead.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.setErrorHandler(onError);
  limitConnections(app.server);
  answerOddRequests(app);
  exchanges.watch(app);
  cutOffUnreadReplies(app, context.options.stallTimeoutMs);
  readBodies(app, profile, { largest: context.options.bodyLimit, longestSilenceMs: options.bodySilenceMs });
  validateBodies(app);
  guardRequests(app, context, options);
  app.addHook('preClose', () => running.drain(context.options.drainMs));
  if (basePath !== '') livenessRoute(app);
  app.register(
    async (scope) => {
      for (const route of ROUTES) route(scope, context);
    },
    { prefix: basePath },
  );
  return app;
}

/** AJV as strict as it goes: by default Fastify has it coerce types, drop unknown fields and fill in defaults. */
function validateBodies(app: FastifyInstance): void {
  const ajv = new Ajv({
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    allErrors: false,
    strict: true,
    // The variants of a discriminated union are told apart by a property that only they define.
    strictRequired: false,
    allowUnionTypes: true,
    discriminator: true,
    verbose: true,
  });
  app.setValidatorCompiler(({ schema }) => {
    const validate = ajv.compile(schema as object);
    return (body: unknown) => {
      if (validate(body)) return { value: body };
      return { error: toValidationError((validate.errors as ErrorObject[])[0] as ErrorObject) };
    };
  });
}

/**
 * Before anything is read of a request, in this order: what a browser must know to show an error to its page, whether
 * the caller is one that may ask at all, whether there is such a path.
 */
function guardRequests(app: FastifyInstance, { profile, running, basePath }: AppContext, options: AppOptions): void {
  const endpoints = new Endpoints(app, basePath);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  allowOrigins(app, options.corsOrigins ?? profile.corsOrigins);
  if (profile.checksHostHeader) checkHostHeader(app, options.allowedHosts ?? []);
  app.addHook('onRequest', async () => {
    if (running.draining) throw shuttingDown();
  });
  if (profile.authentication === 'key') guardAccess(app, options.access);
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw endpoints.unknownUrl(request);
  });
  app.setNotFoundHandler((request) => {
    throw endpoints.unknownUrl(request);
  });
}

function guardAccess(app: FastifyInstance, access: AppOptions['access']): void {
  if (access === undefined) throw new ChasquiError('invalid_options', 'Nobody said who may use this deployment.');
  if (access !== 'public') demandKey(app, access, [LIVENESS_URL]);
}
