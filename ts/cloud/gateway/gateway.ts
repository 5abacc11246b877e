/** The gateway: `/<org>/<app>/…` → a runner of the app. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ChasquiError } from '../../errors.js';
import { BodyBudget } from '../../http/body/budget.js';
import { checkHostHeader, REQUEST_ID_PREFIX } from '../../http/connections.js';
import { newId } from '../../new-id.js';
import { type AppAddress, isOpen, parseAppAddress } from './app-address.js';
import { AppRoutes } from './app-routes.js';
import { replyToStatus } from './app-status.js';
import { authorize, type Grant, opens } from './authorize.js';
import { ClientReply, toTold } from './client-reply.js';
import { GATEWAY_DEFAULTS, type GatewayContext, type GatewayOptions, type GatewayParts } from './context.js';
import type { DeployedApp } from './directory.js';
import { type AppParts, Exchange } from './exchange.js';
import { CORS_HEADERS, DATA_HEADERS, preflightHeaders } from './headers.js';
import { KeyLimits } from './key-limits.js';
import { WaitingRoom } from './waiting-room.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Requests that have ended with an error get this long to be told so. */
const END_GRACE_MS = 1000;

export class Gateway {
  readonly #context: GatewayContext;
  readonly #limits = new KeyLimits();
  readonly #routes = new AppRoutes();
  readonly #rooms = new Map<string, WaitingRoom>();
  readonly #running = new Set<Exchange>();
  #keyTimer: NodeJS.Timeout | null = null;
  #closing = false;
  #onIdle: (() => void) | null = null;

  constructor(parts: GatewayParts, options: Partial<GatewayOptions> = {}) {
    const all = { ...GATEWAY_DEFAULTS, ...options };
    this.#context = { ...parts, options: all, bodies: BodyBudget.forBodiesOf(all.bodyLimit) };
  }

  /** Handles a request of Node's server whose reply is the next one on its connection. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const id = newId(REQUEST_ID_PREFIX);
    response.setHeader('x-request-id', id);
    for (const [name, value] of [...CORS_HEADERS, ...DATA_HEADERS]) response.setHeader(name, value);
    try {
      this.#admit(id, request, response);
    } catch (thrown) {
      const error = toTold(thrown);
      if (error.code === 'internal_error') this.#context.options.onError(thrown, id);
      this.#refuse(request, response, error);
    }
  }

  /** How many requests a runner has. */
  runningAt(app: string, runner: string): number {
    return this.#rooms.get(app)?.runningAt(runner) ?? 0;
  }

  /**
   * Lets running requests go on for `drainMs`, then ends them with an error, and resolves. Requests that come meanwhile
   * are refused.
   */
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
    this.#rooms.get(grant.app.id)?.update(grant.app);
    if (address.path === '/status' || address.path === '/wake') {
      this.#replyToOwnPath(address, grant.app, request, response);
    } else if (isOpen(address.path)) {
      this.#start({ id, request, response, address, grant });
    } else {
      throw new ChasquiError(
        'unknown_url',
        `There is no \`${address.path.slice(0, 200)}\` in an app. There are \`/v1/…\`, \`/tokenize\`, \`/detokenize\`, ` +
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
    const { app, key } = arrival.grant;
    if (app.failure !== null) throw new ChasquiError(app.failure.code, app.failure.message);
    const admission = key === null ? null : this.#limits.admit(key.known);
    const parts: AppParts = { room: () => this.#roomOf(app), route: (body) => this.#routes.routeFor(app, body) };
    const exchange = new Exchange(this.#context, arrival, parts);
    this.#running.add(exchange);
    this.#watchKeys();
    exchange.run(admission).then(() => {
      this.#running.delete(exchange);
      this.#watchKeys();
      if (this.#running.size === 0) this.#onIdle?.();
    });
  }

  #replyToOwnPath({ path }: AppAddress, app: DeployedApp, request: IncomingMessage, response: ServerResponse): void {
    const allowed = path === '/wake' ? ['POST'] : ['GET', 'HEAD'];
    if (!allowed.includes(request.method ?? '')) throw methodNotAllowed(response, request.method, allowed);
    const room = this.#roomOf(app);
    if (path === '/wake') {
      if (app.failure !== null) throw new ChasquiError(app.failure.code, app.failure.message);
      room.wake();
    }
    replyToStatus(response, app, room, path === '/wake' ? 202 : 200);
    room.forgetIfEmpty();
  }

  #roomOf(app: DeployedApp): WaitingRoom {
    let room = this.#rooms.get(app.id);
    if (room === undefined) {
      room = new WaitingRoom(app, () => this.#rooms.delete(app.id));
      this.#rooms.set(app.id, room);
    }
    return room;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: ChasquiError): void {
    if (!request.complete && hasBody(request)) response.setHeader('connection', 'close');
    if (error.code === 'invalid_api_key') response.setHeader('www-authenticate', 'Key');
    const { stallMs } = this.#context.options;
    new ClientReply(response, { stallMs, path: pathOf(request) }).fail(error);
  }

  /** Ends requests whose key was revoked while they run. */
  #watchKeys(): void {
    if (this.#running.size === 0) {
      if (this.#keyTimer !== null) clearInterval(this.#keyTimer);
      this.#keyTimer = null;
    } else {
      this.#keyTimer ??= setInterval(() => this.#checkKeys(), this.#context.options.keyCheckMs);
    }
  }

  /** Where it cannot be known whether a key is valid, the next look tells. */
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

/** Empty where it is not an app's, or cannot be read. */
function pathOf({ url = '/' }: IncomingMessage): string {
  try {
    return parseAppAddress(url).path;
  } catch {
    return '';
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

function replyToPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  const asked = headers['access-control-request-headers'];
  for (const [name, value] of preflightHeaders(asked)) response.setHeader(name, value);
  response.writeHead(204);
  response.end();
}

function methodNotAllowed(response: ServerResponse, method: string | undefined, allowed: readonly string[]) {
  response.setHeader('allow', allowed.join(', '));
  return new ChasquiError('method_not_allowed', `This path takes ${allowed.join(' or ')}, not ${method}.`);
}

function closing(): ChasquiError {
  return new ChasquiError('engine_closed', 'The gateway is shutting down; try again later.');
}
