/**
 * The HTTP application: one engine, one profile, every route. It neither listens nor reads the environment; whoever
 * builds it does, so tests and all hosting modes get the same behaviour.
 */
import { Ajv, type ErrorObject } from 'ajv';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Engine } from '../engine/engine.js';
import type { Profile } from '../profiles/profile.js';
import { answerBrokenHttp, errorHandler, type FaultListener } from './error-handler.js';
import { parseJsonBody } from './json-body.js';
import { unknownUrl } from './not-found.js';
import { newRequestId } from './request-id.js';
import { chatCompletionsRoute } from './routes/chat-completions.js';
import { healthRoute } from './routes/health.js';
import { modelsRoutes } from './routes/models.js';
import { RunningReplies, shuttingDown } from './running-replies.js';
import { toValidationError } from './validation-error.js';

export interface AppOptions {
  /** Refuse unknown fields instead of ignoring them; default false. */
  strict?: boolean;
  /** The largest body in bytes; default 64 MiB. */
  bodyLimit?: number;
  /** Milliseconds of silence in a stream before a comment is sent; default 10,000. */
  keepAliveMs?: number;
  /** Milliseconds that `close()` lets running replies go on; default 0. */
  drainMs?: number;
  /** Told of faults of the server itself; default none. */
  onFault?: FaultListener;
}

/** What the routes are made of. */
export interface AppContext {
  engine: Engine;
  profile: Profile;
  options: Required<AppOptions>;
  running: RunningReplies;
}

export const DEFAULT_BODY_LIMIT = 64 * 1024 * 1024;

/** How long a client may take to send its request, headers and body. */
const REQUEST_TIMEOUT_MS = 300_000;

const DEFAULTS: Required<AppOptions> = {
  strict: false,
  bodyLimit: DEFAULT_BODY_LIMIT,
  keepAliveMs: 10_000,
  drainMs: 0,
  onFault: () => undefined,
};

/** `close()` of the result lets running replies finish for `drainMs`, then ends them with an error; the engine stays open. */
export function buildApp(engine: Engine, profile: Profile, options: AppOptions = {}): FastifyInstance {
  const context: AppContext = { engine, profile, options: { ...DEFAULTS, ...options }, running: new RunningReplies() };
  const onError = errorHandler(context.options.onFault);
  const app = Fastify({
    bodyLimit: context.options.bodyLimit,
    genReqId: newRequestId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: onError,
    // After `drain` every reply is over: what is still open then is idle, or a request that has not arrived in full.
    forceCloseConnections: true,
    // Its body would not be our envelope; the hook below answers instead.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.setErrorHandler(onError);
  readBodies(app, profile);
  validateBodies(app);
  guardRequests(app, context.running);
  app.addHook('preClose', () => context.running.drain(context.options.drainMs));
  app.get('/', async () => 'chasqui: OpenAI-compatible chat completions. Start at /v1/models.\n');
  modelsRoutes(app, context);
  chatCompletionsRoute(app, context);
  healthRoute(app, context);
  return app;
}

/**
 * Where JSON is demanded, a web page of another origin cannot post without the browser asking first (which is not
 * answered); so a page cannot use a person's local server behind their back.
 */
function readBodies(app: FastifyInstance, profile: Profile): void {
  app.removeAllContentTypeParsers();
  const accepted = profile.demandsJsonContentType ? 'application/json' : '*';
  app.addContentTypeParser(accepted, { parseAs: 'string' }, async (_request: unknown, text: string | Buffer) =>
    parseJsonBody(String(text)),
  );
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

/** Before anything is read of a request: its id, whether there is such a path, whether the server is stopping. */
function guardRequests(app: FastifyInstance, running: RunningReplies): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    if (running.draining) throw shuttingDown();
    if (request.is404) throw unknownUrl(request);
  });
}
