/** One request to an app, from reading its body to the end of the reply. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ChasquiError, ERRORS } from '../../errors.js';
import { parseJsonBody } from '../../http/body/json-body.js';
import { readBody, refuseCompressed } from '../../http/body/read-body.js';
import type { Grant } from './access.js';
import type { AppAddress } from './app-address.js';
import type { AppQueue, Place } from './app-queue.js';
import type { Route } from './app-routes.js';
import { ClientReply, toClientError } from './client-reply.js';
import type { CommentOptions, GatewayContext } from './context.js';
import { toRunnerHeaders } from './headers.js';
import type { Admission } from './key-limits.js';
import { type Relayed, relay } from './relay.js';
import { countEvents } from './stream-ends.js';
import { NO_TOKENS, type RequestUsage, type TokenCounts } from './usage.js';
import { MAX_PARSED_BYTES, wantsStream } from './wants-stream.js';

export interface Arrival {
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
  address: AppAddress;
  grant: Grant;
}

export interface AppParts {
  /** Returns the app's queue. Call it per use: an empty queue is discarded. */
  queue(): AppQueue;
  /** Returns null with fewer than two runners. */
  route(body: Buffer): Route | null;
}

export class Exchange {
  readonly #reply: ClientReply;
  readonly #abort = new AbortController();
  readonly #startedAt = performance.now();
  readonly #at = Date.now();
  #route: Route | null = null;
  #report: TokenCounts | null = null;
  /** The last report of a runner that has not replied yet. */
  #computed: TokenCounts | null = null;
  /** Events of the stream so far, about one per completion token. */
  #events = 0;
  #sentBytes = 0;
  #progress: RequestUsage | null = null;
  #waitedMs: number | null = null;
  #firstByteMs: number | null = null;

  constructor(
    private readonly context: GatewayContext,
    private readonly arrival: Arrival,
    private readonly app: AppParts,
  ) {
    const { stallMs } = context.options;
    this.#reply = new ClientReply(arrival.response, { stallMs, path: arrival.address.path });
  }

  get grant(): Grant {
    return this.arrival.grant;
  }

  end(error: ChasquiError): void {
    this.#abort.abort(error);
  }

  /** Resolves at the end of the reply. Never rejects. */
  async run(admissions: readonly Admission[]): Promise<void> {
    const { response, id } = this.arrival;
    const onClose = (): void => {
      if (!response.writableEnded)
        this.end(new ChasquiError('client_closed_request', 'The client closed the connection.'));
    };
    response.once('close', onClose);
    const headers = admissions.flatMap((each) => Object.entries(each.headers));
    for (const [name, value] of headers) this.#reply.setHeader(name, value);
    let failure: ChasquiError | null = null;
    try {
      const body = await this.#readBody();
      let expected: number | undefined;
      const estimate = () => {
        expected ??= Math.ceil(body.length / BYTES_PER_TOKEN) + maxTokensOf(body);
        return expected;
      };
      for (const each of admissions) each.reserve(estimate);
      await this.#serve(body);
    } catch (thrown) {
      failure = toClientError(thrown);
      if (failure.code === 'internal_error') this.context.options.onError(thrown, id);
      this.#fail(failure);
    }
    response.off('close', onClose);
    this.#account(admissions, failure === null ? this.#reply.status : ERRORS[failure.code].status);
  }

  async #readBody(): Promise<Buffer> {
    const { request, response, grant } = this.arrival;
    const { headers } = request;
    refuseCompressed(headers);
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return Buffer.alloc(0);
    if (headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
    const { bodyLimit, bodySilenceMs: maxSilenceMs } = this.context.options;
    const maxBytes = Math.min(bodyLimit, grant.key?.known.limits.bodyBytes ?? bodyLimit);
    // It is kept until the end: another runner may need it.
    return readBody(request, response, { maxBytes, maxSilenceMs }, this.context.bodies);
  }

  async #serve(body: Buffer): Promise<void> {
    const { grant } = this.arrival;
    this.#route = this.app.route(body);
    const first = await this.#visit(body, undefined);
    if (first.relayed.kind === 'done') return;
    const others = grant.app.runners().some(({ id }) => id !== first.runnerId);
    if (first.relayed.kind === 'unavailable' && !others) {
      first.relayed.pass();
      return;
    }
    // A replacement of a crashed runner is worth waiting for.
    if (first.relayed.kind === 'failed' && !others && !first.relayed.isConnection) throw first.relayed.error;
    const second = await this.#visit(body, first.runnerId);
    if (second.relayed.kind === 'failed') throw second.relayed.error;
    if (second.relayed.kind === 'unavailable') second.relayed.pass();
  }

  /** Waits for a runner and sends it the request. `avoid`: a runner that has failed this request. */
  async #visit(body: Buffer, avoid: string | undefined): Promise<{ relayed: Relayed; runnerId: string }> {
    const { address, grant } = this.arrival;
    const place = await this.#enter(body, avoid);
    const limitMs = grant.app.limits.requestMs;
    const late = limitMs > 0 ? setTimeout(() => this.end(tookTooLong(limitMs)), limitMs) : undefined;
    this.#describe(place);
    this.#sentBytes = body.length;
    this.#computed = null;
    const { request, id } = this.arrival;
    const forwarded = {
      method: request.method ?? 'GET',
      path: address.path + address.query,
      headers: toRunnerHeaders(request.headers, id, grant.key?.known.id ?? null),
      // These methods have no body, and the runner does not wait for one.
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
      const relayed = await relay(place.runner, forwarded, {
        reply: this.#reply,
        signal: this.#abort.signal,
        isFirst,
        onPart,
        onProgress: (counts) => {
          this.#computed = counts;
        },
      });
      if (relayed.kind === 'done') this.#report = relayed.report;
      return { relayed, runnerId: place.runner.id };
    } finally {
      clearTimeout(late);
      place.release();
    }
  }

  async #enter(body: Buffer, avoid: string | undefined): Promise<Place> {
    const { org, name } = this.grant.app;
    const { directory, options } = this.context;
    const progress = (): string | null => directory.find(org, name)?.progress ?? null;
    const stop = commentWhileWaiting(this.#reply, () => wantsStream(body), progress, options.comments);
    try {
      return await this.app.queue().enter({ signal: this.#abort.signal, avoid, choose: this.#route?.choose });
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
    const { request } = this.arrival;
    // Otherwise Node would read the rest of the body to reuse the connection.
    if (!request.complete) this.#reply.setHeader('connection', 'close');
    if (error.code === 'invalid_api_key') this.#reply.setHeader('www-authenticate', 'Key');
    this.#reply.fail(error);
  }

  /** Reports the usage so far. If this process is killed, the request counts as aborted. */
  reportProgress(): void {
    if (this.#sentBytes === 0) return;
    const use = this.#usage(this.#estimateOfTokens(), ERRORS.client_closed_request.status);
    this.context.usage.progress(use, this.#progress);
    this.#progress = use;
  }

  #account(admissions: readonly Admission[], status: number): void {
    const counts = this.#report ?? this.#countsWithoutReport();
    const charged = this.#report ?? this.#estimateOfTokens();
    for (const each of admissions) each.end(charged.promptTokens + charged.completionTokens);
    this.#route?.learn(this.#report);
    const times = { waitedMs: this.#waitedMs, firstByteMs: this.#firstByteMs };
    this.context.usage.add({ ...this.#usage(counts, status), ...times }, this.#progress);
  }

  #usage(counts: TokenCounts, status: number): RequestUsage {
    const { app, key } = this.arrival.grant;
    const ms = Math.round(performance.now() - this.#startedAt);
    return { keyId: key?.known.id ?? null, org: app.org, app: app.name, at: this.#at, ...counts, status, ms };
  }

  /** For failures before any output, it is unknown whether a runner computed anything. */
  #countsWithoutReport(): TokenCounts {
    const isAborted = this.#abort.signal.aborted && this.#sentBytes > 0;
    return this.#events > 0 || this.#computed !== null || isAborted ? this.#estimateOfTokens() : NO_TOKENS;
  }

  /** Prompts have about four bytes per token. Bodies beyond the maximum contain images. */
  #estimateOfTokens(): TokenCounts {
    if (this.#computed !== null && this.#events === 0) return this.#computed;
    const promptTokens = Math.min(Math.ceil(this.#sentBytes / BYTES_PER_TOKEN), MAX_ESTIMATE);
    return { ...NO_TOKENS, promptTokens, completionTokens: this.#reply.isStream ? this.#events : 0 };
  }
}

const BYTES_PER_TOKEN = 4;
const MAX_ESTIMATE = 32_768;
const MAX_TOKENS_FIELDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens', 'n_predict'];
const USUAL_TOKENS = 256;

/** Without a maximum, an ordinary one is assumed. */
function maxTokensOf(body: Buffer): number {
  // Its size alone gives a large estimate.
  if (body.length > MAX_PARSED_BYTES) return USUAL_TOKENS;
  try {
    const fields = parseJsonBody(body) as Record<string, unknown>;
    const given = MAX_TOKENS_FIELDS.map((field) => fields[field]).find((value) => Number.isSafeInteger(value));
    const choices = Number.isSafeInteger(fields.n) ? (fields.n as number) : 1;
    return Math.max(0, (given as number | undefined) ?? USUAL_TOKENS) * Math.max(1, choices);
  } catch {
    // The runner reports the error.
    return 0;
  }
}

function tookTooLong(limitMs: number): ChasquiError {
  return new ChasquiError(
    'time_limit_exceeded',
    `The request exceeded the time limit of this app, ${limitMs / 1000} s.`,
  );
}

const PROGRESS_POLL_MS = 1000;

/**
 * Sends comments to a waiting stream. Clients skip them, and proxies keep the connection open.
 * Returns a function that stops the comments. `isStream` parses the body, so it is called at the first comment only.
 */
function commentWhileWaiting(
  reply: ClientReply,
  isStream: () => boolean,
  progress: () => string | null,
  { firstMs, repeatMs }: CommentOptions,
): () => void {
  let sent = '';
  let sentAt = 0;
  let timer: NodeJS.Timeout;
  const check = (): void => {
    if (!reply.begun) {
      if (!isStream()) return;
      reply.beginStream();
    }
    const text = progress() ?? 'waiting for a runner';
    const now = performance.now();
    if (text !== sent || now - sentAt >= repeatMs) {
      reply.comment(text);
      sent = text;
      sentAt = now;
    }
    timer = setTimeout(check, Math.min(PROGRESS_POLL_MS, repeatMs));
  };
  timer = setTimeout(check, reply.begun ? 0 : firstMs);
  return () => clearTimeout(timer);
}
