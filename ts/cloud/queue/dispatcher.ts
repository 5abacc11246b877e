/** Runs queued requests through the gateway, beside the requests of waiting clients. */
import Fastify from 'fastify';
import { ChasquiError, ERRORS } from '../../errors.js';
import { toErrorBody } from '../../http/error-handler.js';
import { InjectedRequests } from '../../http/injected-requests.js';
import type { AppDirectory } from '../gateway/directory.js';
import type { Gateway } from '../gateway/gateway.js';
import type { QueuedRequest, QueueStore, Result } from './queue-store.js';
import type { TicketRing } from './ticket-ring.js';

export interface DispatcherParts {
  store: QueueStore;
  gateway: Pick<Gateway, 'handle' | 'waitingFor'>;
  directory: AppDirectory;
  tickets: TicketRing;
  onError(error: unknown): void;
  /** Called after a request has a result. */
  onDone(): void;
}

/** Attempts that a server error or the end of the control plane may interrupt. */
const MAX_ATTEMPTS = 5;
/** Seconds before the second attempt, the third ... */
const PAUSE_BASE = 5;
const MAX_RETRY_AFTER_S = 60;
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_RESULT_BYTES = 8 * 2 ** 20;

interface Running {
  org: string;
  app: string;
  abort: AbortController;
  ended: Promise<void>;
}

export class Dispatcher {
  readonly #running = new Map<string, Running>();
  readonly #requests: InjectedRequests;
  /** The key of the last started request of an app. */
  readonly #lastKeys = new Map<string, string>();
  #isClosing = false;
  /** A failed write may have left a request in the state `running`. */
  #hasFailed = true;

  constructor(private readonly parts: DispatcherParts) {
    this.#requests = injectedInto(parts.gateway);
  }

  /** Starts requests of all apps, and ends those that have waited too long. */
  tick(now = Date.now()): void {
    const { store } = this.parts;
    if (this.#hasFailed) store.recover(this.#running.keys());
    this.#hasFailed = false;
    for (const id of store.waitingSince(now - MAX_AGE_MS)) this.#finish(id, failure(TOO_OLD));
    for (const { org, app } of store.waiting()) this.dispatch(org, app);
  }

  dispatch(org: string, app: string): void {
    while (!this.#isClosing && this.#mayStart(org, app)) {
      const request = this.parts.store.next(org, app, this.#lastKeys.get(`${org}/${app}`));
      if (request === undefined) return void this.#lastKeys.delete(`${org}/${app}`);
      this.#lastKeys.set(`${org}/${app}`, request.keyId);
      if (request.attempts >= MAX_ATTEMPTS) this.#finish(request.id, failure(TOO_OFTEN));
      else this.#start(request);
    }
  }

  /** Returns false if the request has a result already. */
  cancel(id: string): boolean {
    const isCancelled = this.#finish(id, failure(CANCELLED));
    this.#running.get(id)?.abort.abort();
    return isCancelled;
  }

  /** Running requests start again with the next process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const running = [...this.#running];
    for (const [id, { abort }] of running) {
      this.#orReport(() => this.parts.store.requeue(id, { isAttempt: false, dueAt: Date.now() }));
      abort.abort();
    }
    await Promise.all(running.map(([, { ended }]) => ended));
  }

  /**
   * As many requests as the ready runners have slots: a runner takes twice as many, so waiting clients find places. Only
   * one while clients wait, or while no runner is ready.
   */
  #mayStart(org: string, name: string): boolean {
    const app = this.parts.directory.find(org, name);
    const running = [...this.#running.values()].filter((each) => each.org === org && each.app === name).length;
    if (app === null || running === 0) return running === 0;
    const slots = app.runners().reduce((sum, runner) => sum + runner.slots, 0);
    return running < slots && this.parts.gateway.waitingFor(app.id) === 0;
  }

  #start(request: QueuedRequest): void {
    const { id, org, app } = request;
    const abort = new AbortController();
    const ended = this.#run(request, abort.signal)
      // Requests that fail at once would otherwise not let the process read from its sockets.
      .then(() => setImmediate(() => this.#orReport(() => this.dispatch(org, app))))
      .catch((error) => {
        this.#hasFailed = true;
        this.parts.onError(error);
      })
      .finally(() => this.#running.delete(id))
      .then(() => undefined);
    this.#running.set(id, { org, app, abort, ended });
  }

  async #run(request: QueuedRequest, signal: AbortSignal): Promise<void> {
    const { id, org, app, keyId } = request;
    const { store, tickets } = this.parts;
    const { path, body } = store.begin(id);
    const ticket = tickets.issue(keyId);
    try {
      const reply = await this.#send(`/${org}/${app}${path}`, ticket, body, signal);
      if (signal.aborted) return;
      const pause = pauseBefore(reply, request.attempts + 1);
      if (pause === null) this.#finish(id, reply.body.length > MAX_RESULT_BYTES ? failure(TOO_LARGE) : reply);
      else store.requeue(id, { isAttempt: reply.status !== TOO_MANY, dueAt: Date.now() + pause * 1000 });
    } finally {
      tickets.withdraw(ticket);
    }
  }

  async #send(url: string, ticket: string, body: Buffer, signal: AbortSignal): Promise<Reply> {
    const headers = { host: 'localhost', authorization: `Key ${ticket}`, 'content-type': 'application/json' };
    try {
      const reply = await this.#requests.send({ method: 'POST', url, headers, payload: body }, signal);
      const retryAfter = Number(reply.headers['retry-after'] ?? Number.NaN);
      const type = String(reply.headers['content-type'] ?? 'application/octet-stream');
      return { status: reply.statusCode, type, body: reply.rawPayload, retryAfter };
    } catch {
      // The gateway ended the reply before its end.
      return { ...failure(CUT_SHORT), retryAfter: Number.NaN };
    }
  }

  #finish(id: string, result: Result): boolean {
    const isFirst = this.parts.store.finish(id, result);
    if (isFirst) this.parts.onDone();
    return isFirst;
  }

  #orReport(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.parts.onError(error);
    }
  }
}

interface Reply extends Result {
  retryAfter: number;
}

const TOO_MANY = ERRORS.queue_full.status;

/** Seconds before the next attempt, or null for none. Refusals (429) are no attempts: the request waits for its turn. */
function pauseBefore({ status, retryAfter }: Reply, attempts: number): number | null {
  if (status === TOO_MANY && Number.isFinite(retryAfter)) return Math.min(retryAfter, MAX_RETRY_AFTER_S);
  return status >= 500 && attempts < MAX_ATTEMPTS ? PAUSE_BASE ** (attempts - 1) : null;
}

const CANCELLED = new ChasquiError('request_cancelled', 'The request was cancelled through its `cancel_url`.');
const TOO_OLD = new ChasquiError('time_limit_exceeded', 'The request waited in the queue for 24 hours.');
const TOO_OFTEN = new ChasquiError(
  'runner_failed',
  `The request did not complete in ${MAX_ATTEMPTS} attempts: the cloud or the runner stopped during each of them.`,
);
const TOO_LARGE = new ChasquiError('request_too_large', `The reply exceeds ${MAX_RESULT_BYTES} bytes.`);
const CUT_SHORT = new ChasquiError('runner_failed', 'The runner failed before the end of its reply.');

function failure(error: ChasquiError): Result {
  const body = Buffer.from(JSON.stringify(toErrorBody(error)));
  return { status: ERRORS[error.code].status, type: 'application/json; charset=utf-8', body };
}

function injectedInto(gateway: Pick<Gateway, 'handle'>): InjectedRequests {
  const app = Fastify();
  app.removeAllContentTypeParsers();
  // The gateway reads the body.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const requests = new InjectedRequests(app);
  app.all('/*', (request, reply) => {
    reply.hijack();
    gateway.handle(request.raw, reply.raw);
  });
  return requests;
}
