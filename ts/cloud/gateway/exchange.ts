/** One request to an app, from its body to the end of its reply. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ChasquiError, ERRORS } from '../../errors.js';
import { parseJsonBody } from '../../http/body/json-body.js';
import { readBody, refuseCompressed } from '../../http/body/read-body.js';
import type { AppAddress } from './app-address.js';
import type { Route } from './app-routes.js';
import type { Grant } from './authorize.js';
import { ClientReply, toTold } from './client-reply.js';
import type { GatewayContext } from './context.js';
import { toRunnerHeaders } from './headers.js';
import type { Admission } from './key-limits.js';
import { type Relayed, relay } from './relay.js';
import { countEvents } from './stream-ends.js';
import { NO_TOKENS, type TokenCounts } from './usage-report.js';
import { commentWhileWaiting } from './waiting-comments.js';
import type { Place, WaitingRoom } from './waiting-room.js';

export interface Arrival {
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
  address: AppAddress;
  grant: Grant;
}

/** What there is of the app that the request is for. */
export interface AppParts {
  /** The app's one room. To be asked for when it is entered, because a room without requests is forgotten. */
  room(): WaitingRoom;
  /** Returns null where there are no two runners to choose from. */
  route(body: Buffer): Route | null;
}

export class Exchange {
  readonly #context: GatewayContext;
  readonly #arrival: Arrival;
  readonly #app: AppParts;
  readonly #reply: ClientReply;
  readonly #abort = new AbortController();
  readonly #startedAt = performance.now();
  readonly #at = Date.now();
  #route: Route | null = null;
  #report: TokenCounts | null = null;
  /** Events of a stream that came: about as many as the completion has tokens, and hardly ever more. */
  #events = 0;
  #sentBytes = 0;
  #waitedMs: number | null = null;
  #firstByteMs: number | null = null;

  constructor(context: GatewayContext, arrival: Arrival, app: AppParts) {
    this.#context = context;
    this.#arrival = arrival;
    this.#app = app;
    const { stallMs } = context.options;
    this.#reply = new ClientReply(arrival.response, { stallMs, path: arrival.address.path });
  }

  get grant(): Grant {
    return this.#arrival.grant;
  }

  /** Ends it, at whatever point it is, with this error. */
  end(error: ChasquiError): void {
    this.#abort.abort(error);
  }

  /** Resolves when the reply is over. Does not reject. */
  async run(admission: Admission | null): Promise<void> {
    const { response, id } = this.#arrival;
    const onClose = (): void => {
      if (!response.writableEnded) this.end(new ChasquiError('client_closed_request', 'The client has left.'));
    };
    response.once('close', onClose);
    for (const [name, value] of Object.entries(admission?.headers ?? {})) this.#reply.setHeader(name, value);
    let failure: ChasquiError | null = null;
    try {
      await this.#serve(await this.#readBody());
    } catch (thrown) {
      failure = toTold(thrown);
      if (failure.code === 'internal_error') this.#context.options.onError(thrown, id);
      this.#fail(failure);
    }
    response.off('close', onClose);
    this.#account(admission, failure === null ? this.#reply.status : ERRORS[failure.code].status);
  }

  async #readBody(): Promise<Buffer> {
    const { request, response, grant } = this.#arrival;
    const { headers } = request;
    refuseCompressed(headers);
    const announced = headers['content-length'] === undefined ? null : Number(headers['content-length']);
    if (announced === null && headers['transfer-encoding'] === undefined) return Buffer.alloc(0);
    if (headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
    const { bodyLimit, bodySilenceMs: maxSilenceMs } = this.#context.options;
    const maxBytes = Math.min(bodyLimit, grant.key?.known.limits.bodyBytes ?? bodyLimit);
    return readBody(request, announced, { maxBytes, maxSilenceMs }, (makeWay) => {
      const share = this.#context.bodies.open(makeWay);
      // The body is kept to the end, because another runner may need it.
      response.once('close', () => share.release());
      return share;
    });
  }

  async #serve(body: Buffer): Promise<void> {
    const { grant } = this.#arrival;
    this.#route = this.#app.route(body);
    const first = await this.#visit(body, undefined);
    if (first.relayed.kind === 'over') return;
    const others = grant.app.runners().some(({ id }) => id !== first.runnerId);
    if (first.relayed.kind === 'not now' && !others) {
      first.relayed.pass();
      return;
    }
    // A runner whose process has ended makes room for another, which is worth waiting for.
    if (first.relayed.kind === 'failed' && !others && !first.relayed.isConnection) throw first.relayed.error;
    const second = await this.#visit(body, first.runnerId);
    if (second.relayed.kind === 'failed') throw second.relayed.error;
    if (second.relayed.kind === 'not now') second.relayed.pass();
  }

  /** Waits for a runner's place and gives it the request. `avoid` is the runner that has failed it before. */
  async #visit(body: Buffer, avoid: string | undefined): Promise<{ relayed: Relayed; runnerId: string }> {
    const { address, grant } = this.#arrival;
    const place = await this.#enter(body, avoid);
    const limitMs = grant.app.limits.requestMs;
    const late = limitMs > 0 ? setTimeout(() => this.end(tookTooLong(limitMs)), limitMs) : undefined;
    this.#describe(place);
    this.#sentBytes = body.length;
    const { request, id } = this.#arrival;
    const asked = {
      method: request.method ?? 'GET',
      path: address.path + address.query,
      headers: toRunnerHeaders(request.headers, id, grant.key?.known.id ?? null),
      // A body means nothing there, and the runner does not wait for it.
      body: request.method === 'GET' || request.method === 'HEAD' ? Buffer.alloc(0) : body,
    };
    try {
      const onPart = (part: string): void => {
        if (this.#firstByteMs === null) {
          this.#route?.begun();
          this.#firstByteMs = performance.now() - this.#startedAt;
        }
        this.#events += countEvents(part);
      };
      const isFirst = avoid === undefined;
      const relayed = await relay(place.runner, asked, {
        reply: this.#reply,
        signal: this.#abort.signal,
        isFirst,
        onPart,
      });
      if (relayed.kind === 'over') this.#report = relayed.report;
      return { relayed, runnerId: place.runner.id };
    } finally {
      clearTimeout(late);
      place.release();
    }
  }

  async #enter(body: Buffer, avoid: string | undefined): Promise<Place> {
    const { org, name } = this.grant.app;
    const { directory, options } = this.#context;
    const progress = (): string | null => directory.find(org, name)?.progress ?? null;
    const stop = commentWhileWaiting(this.#reply, () => wantsStream(body), progress, options.comments);
    try {
      return await this.#app.room().enter({ signal: this.#abort.signal, avoid, choose: this.#route?.choose });
    } finally {
      stop();
    }
  }

  #describe({ runner, coldStartMs, queueMs }: Place): void {
    this.#waitedMs = (this.#waitedMs ?? 0) + coldStartMs + queueMs;
    this.#reply.setHeader('x-chasqui-runner', runner.id);
    this.#reply.setHeader('x-chasqui-queue-ms', String(queueMs));
    if (coldStartMs > 0) this.#reply.setHeader('x-chasqui-cold-start-ms', String(coldStartMs));
  }

  #fail(error: ChasquiError): void {
    const { request } = this.#arrival;
    // Node reads a refused body to its end, so that the connection can be used again. That may be much.
    if (!request.complete) this.#reply.setHeader('connection', 'close');
    if (error.code === 'invalid_api_key') this.#reply.setHeader('www-authenticate', 'Key');
    this.#reply.fail(error);
  }

  #account(admission: Admission | null, status: number): void {
    const { grant } = this.#arrival;
    const counts = this.#report ?? this.#countsOfBroken();
    admission?.end(this.#report === null ? this.#estimate() : counts.promptTokens + counts.completionTokens);
    this.#route?.learn(this.#report);
    this.#context.usage.add({
      keyId: grant.key?.known.id ?? null,
      org: grant.app.org,
      app: grant.app.name,
      at: this.#at,
      ...counts,
      status,
      ms: Math.round(performance.now() - this.#startedAt),
      waitedMs: this.#waitedMs,
      firstByteMs: this.#firstByteMs,
    });
  }

  /**
   * Of a stream that broke off when its completion had begun: its prompt was computed, which no report has told of, so that
   * an estimate stands for it. Of all others it is not known whether a runner has computed anything.
   */
  #countsOfBroken(): TokenCounts {
    if (!this.#reply.isStream || this.#events === 0) return NO_TOKENS;
    return { ...NO_TOKENS, promptTokens: this.#estimateOfPrompt(), completionTokens: this.#events };
  }

  /**
   * A request that breaks off has no report, and still counts towards the key's tokens: leaving before the end must not
   * save them.
   */
  #estimate(): number {
    return this.#events + this.#estimateOfPrompt();
  }

  /** Four bytes of a text are about a token; a body that is larger than any prompt has images in it. */
  #estimateOfPrompt(): number {
    return Math.min(Math.ceil(this.#sentBytes / BYTES_PER_TOKEN), MAX_ESTIMATE);
  }
}

const BYTES_PER_TOKEN = 4;
const MAX_ESTIMATE = 32_768;

function wantsStream(body: Buffer): boolean {
  try {
    return (parseJsonBody(body) as { stream?: unknown } | null)?.stream === true;
  } catch {
    // The runner says what is wrong with it.
    return false;
  }
}

function tookTooLong(limitMs: number): ChasquiError {
  return new ChasquiError(
    'time_limit_exceeded',
    `The request took longer than the ${limitMs / 1000} s that this app allows.`,
  );
}
