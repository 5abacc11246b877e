/** The gateway: routes `/<org>/<app>/…` to a runner of the app. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ChasquiError } from '../../errors.js';
import { BodyBudget } from '../../http/body/read-body.js';
import { checkHostHeader, REQUEST_ID_PREFIX } from '../../http/connections.js';
import { authorize, type Grant, opens } from './access.js';
import { type AppAddress, isPublicPath, parseAppAddress } from './app-address.js';
import { AppQueue } from './app-queue.js';
import { AppRoutes } from './app-routes.js';
import { ClientReply, sendJson, toClientError } from './client-reply.js';
import { GATEWAY_DEFAULTS, type GatewayContext, type GatewayOptions, type GatewayParts } from './context.js';
import type { DeployedApp } from './directory.js';
import { type AppParts, Exchange } from './exchange.js';
import { CORS_HEADERS, DATA_HEADERS, hasBody, preflightHeaders } from './headers.js';
import { type Admission, KeyLimits } from './key-limits.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A killed process loses this much usage of running requests. */
const PROGRESS_MS = 1000;
/** Time to deliver the error to aborted requests. */
const END_GRACE_MS = 1000;

/** Reply of `GET /<org>/<app>/status` and `POST /<org>/<app>/wake`. */
export interface AppStatus {
  org: string;
  app: string;
  revision: number | null;
  state: 'ready' | 'starting' | 'asleep' | 'failed';
  runners: number;
  running: number;
  queued: number;
  progress: string | null;
  failure: { code: string; message: string } | null;
}

export class Gateway {
  readonly #context: GatewayContext;
  readonly #limits = new KeyLimits();
  readonly #routes = new AppRoutes();
  readonly #queues = new Map<string, AppQueue>();
  readonly #running = new Set<Exchange>();
  #keyTimer: NodeJS.Timeout | null = null;
  #progressTimer: NodeJS.Timeout | null = null;
  #closing = false;
  #onIdle: (() => void) | null = null;

  constructor(parts: GatewayParts, options: Partial<GatewayOptions> = {}) {
    const all = { ...GATEWAY_DEFAULTS, ...options };
    this.#context = { ...parts, options: all, bodies: BodyBudget.forBodiesOf(all.bodyLimit) };
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const id = `${REQUEST_ID_PREFIX}${randomBytes(16).toString('hex')}`;
    response.setHeader('x-request-id', id);
    for (const [name, value] of [...CORS_HEADERS, ...DATA_HEADERS]) response.setHeader(name, value);
    try {
      this.#admit(id, request, response);
    } catch (thrown) {
      const error = toClientError(thrown);
      if (error.code === 'internal_error') this.#context.options.onError(thrown, id);
      this.#refuse(request, response, error);
    }
  }

  runningAt(app: string, runner: string): number {
    return this.#queues.get(app)?.runningAt(runner) ?? 0;
  }

  /** Number of requests of an app that wait for a runner. */
  waitingFor(app: string): number {
    return this.#queues.get(app)?.queued ?? 0;
  }

  /** Rejects new requests, waits up to `drainMs` for running ones, then aborts them. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true;
    await this.#idle(drainMs);
    for (const exchange of this.#running) exchange.end(closing());
    await this.#idle(END_GRACE_MS);
    this.#watchKeys();
  }

  #admit(id: string, request: IncomingMessage, response: ServerResponse): void {
    checkHostHeader(request);
    if (!METHODS.includes(request.method ?? '')) throw methodNotAllowed(response, request.method, METHODS);
    const address = parseAppAddress(request.url ?? '/');
    if (isPreflight(request)) {
      replyToPreflight(request, response);
      return;
    }
    if (this.#closing) throw closing();
    const grant = authorize(this.#context, address, request.headers.authorization);
    this.#queues.get(grant.app.id)?.update(grant.app);
    if (address.path === '/status' || address.path === '/wake') {
      this.#replyToOwnPath(address, grant.app, request, response);
    } else if (isPublicPath(address.path)) {
      this.#start({ id, request, response, address, grant });
    } else {
      throw new ChasquiError(
        'unknown_url',
        `Apps have no \`${address.path.slice(0, 200)}\`, only \`/v1/…\`, \`/tokenize\`, \`/detokenize\`, ` +
          '`/apply-template`, `GET /status` and `POST /wake`.',
      );
    }
  }

  #start(arrival: {
    id: string;
    request: IncomingMessage;
    response: ServerResponse;
    address: AppAddress;
    grant: Grant;
  }) {
    const { app } = arrival.grant;
    if (app.failure !== null) throw new ChasquiError(app.failure.code, app.failure.message);
    const admissions = this.#admissionsTo(arrival.grant);
    const route: AppParts['route'] = (body) => this.#routes.routeFor(arrival.grant, body);
    const parts: AppParts = { queue: () => this.#queueOf(app), route };
    const exchange = new Exchange(this.#context, arrival, parts);
    this.#running.add(exchange);
    this.#watchKeys();
    exchange.run(admissions).then(() => {
      this.#running.delete(exchange);
      this.#watchKeys();
      if (this.#running.size === 0) this.#onIdle?.();
    });
  }

  #admissionsTo({ app, key }: Grant): Admission[] {
    const admissions = key === null ? [] : [this.#limits.admit(key.known)];
    const { budgets } = this.#context;
    if (budgets === undefined) return admissions;
    try {
      return [...admissions, budgets.admit(app.org, key?.known.id ?? null)];
    } catch (refusal) {
      for (const each of admissions) each.end(0);
      throw refusal;
    }
  }

  #replyToOwnPath({ path }: AppAddress, app: DeployedApp, request: IncomingMessage, response: ServerResponse): void {
    const allowed = path === '/wake' ? ['POST'] : ['GET', 'HEAD'];
    if (!allowed.includes(request.method ?? '')) throw methodNotAllowed(response, request.method, allowed);
    const queue = this.#queueOf(app);
    if (path === '/wake') {
      if (app.failure !== null) throw new ChasquiError(app.failure.code, app.failure.message);
      queue.wake();
    }
    replyToStatus(response, app, queue, path === '/wake' ? 202 : 200);
    queue.forgetIfEmpty();
  }

  #queueOf(app: DeployedApp): AppQueue {
    let queue = this.#queues.get(app.id);
    if (queue === undefined) {
      queue = new AppQueue(app, () => this.#queues.delete(app.id));
      this.#queues.set(app.id, queue);
    }
    return queue;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: ChasquiError): void {
    if (!request.complete && hasBody(request)) response.setHeader('connection', 'close');
    if (error.code === 'invalid_api_key') response.setHeader('www-authenticate', 'Key');
    const { stallMs } = this.#context.options;
    new ClientReply(response, { stallMs, path: pathOf(request) }).fail(error);
  }

  /** Rechecks keys while requests run. */
  #watchKeys(): void {
    if (this.#running.size === 0) {
      for (const timer of [this.#keyTimer, this.#progressTimer]) if (timer !== null) clearInterval(timer);
      this.#keyTimer = null;
      this.#progressTimer = null;
    } else {
      this.#keyTimer ??= setInterval(() => this.#checkKeys(), this.#context.options.keyCheckMs);
      this.#progressTimer ??= setInterval(() => this.#reportProgress(), PROGRESS_MS);
    }
  }

  #reportProgress(): void {
    for (const exchange of this.#running) exchange.reportProgress();
  }

  /** On an error, the next check decides. */
  #checkKeys(): void {
    try {
      this.#endRevoked();
    } catch (thrown) {
      this.#context.options.onError(thrown, null);
    }
  }

  #endRevoked(): void {
    const valid = new Map<string, boolean>();
    for (const exchange of this.#running) {
      const { key, app } = exchange.grant;
      if (key === null) continue;
      const name = `${app.id} ${key.text}`;
      let isValid = valid.get(name);
      if (isValid === undefined) {
        const known = this.#context.keys.check(key.text);
        isValid = known !== null && opens(known, app.org, app.name);
        valid.set(name, isValid);
      }
      if (!isValid) exchange.end(new ChasquiError('invalid_api_key', 'The API key was revoked or has expired.'));
    }
  }

  #idle(timeoutMs: number): Promise<void> {
    if (this.#running.size === 0 || timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Empty if the URL does not belong to an app. */
function pathOf({ url = '/' }: IncomingMessage): string {
  try {
    return parseAppAddress(url).path;
  } catch {
    return '';
  }
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

function replyToPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  const asked = headers['access-control-request-headers'];
  for (const [name, value] of preflightHeaders(asked)) response.setHeader(name, value);
  response.setHeader('content-length', 0);
  response.writeHead(200);
  response.end();
}

function methodNotAllowed(response: ServerResponse, method: string | undefined, allowed: readonly string[]) {
  response.setHeader('allow', allowed.join(', '));
  return new ChasquiError('method_not_allowed', `This path accepts ${allowed.join(' or ')}, not ${method}.`);
}

function closing(): ChasquiError {
  return new ChasquiError('engine_closed', 'The gateway is shutting down. Try again later.');
}

function replyToStatus(response: ServerResponse, app: DeployedApp, queue: AppQueue, status: number): void {
  const { org, name, revision, progress, failure } = app;
  const runners = app.runners().length;
  const body: AppStatus = {
    org,
    app: name,
    revision,
    state: stateOf(app, runners, queue.isAwaited),
    runners,
    running: queue.running,
    queued: queue.queued,
    progress,
    failure: failure === null ? null : { code: failure.code, message: failure.message },
  };
  response.setHeader('cache-control', 'no-store');
  sendJson(response, status, body);
}

function stateOf({ failure, progress }: DeployedApp, runners: number, isAwaited: boolean): AppStatus['state'] {
  if (failure !== null) return 'failed';
  if (runners > 0) return 'ready';
  return progress !== null || isAwaited ? 'starting' : 'asleep';
}
