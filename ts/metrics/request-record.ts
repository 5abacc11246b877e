/** The measurements of one request. Its route and its streams update them; the log and the metrics read them. */
import type { Finish, Prefill, Timings, TokenStream } from '../engine/engine.js';
import { readablePrompt } from '../engine/readable-prompt.js';
import type { ErrorCode } from '../errors.js';
import type { Metrics, ModelSeries } from './metrics.js';

/** The facts that are known when a request arrives. */
export interface Arrival {
  id: string;
  method: string;
  /** Without the query, which may contain secrets. */
  path: string;
  /** The path of the route, below the base path; `null` when no route matches. */
  endpoint: string | null;
  traceParent: TraceParent | null;
}

export interface FollowOptions {
  /** How many consecutive streams share a prompt; default all. */
  choicesPerPrompt?: number;
  /** Only a prompt that is a text can be kept for the log. */
  prompt?: string | null;
}

const MAX_PROMPT_LENGTH = 8192;

export class RequestRecord {
  /** Milliseconds since 1970. */
  readonly arrivedAt = Date.now();
  model: string | null = null;
  /** The beginning of the prompt, if prompts are logged. */
  prompt: string | null = null;
  promptTokens = 0;
  /** How many of the prompts' tokens were found in the prefix cache. */
  cachedTokens = 0;
  generatedTokens = 0;
  /** One for each completion that has ended. */
  readonly finishReasons: string[] = [];
  errorCode: ErrorCode | null = null;
  /** Milliseconds from the arrival to the first token. */
  firstTokenMs: number | null = null;
  /** Those of the first completion that ended. */
  timings: Timings | null = null;
  /** Milliseconds from the arrival to that end. */
  timingsEndMs = 0;
  /** Milliseconds from the arrival to the end of the reply; `null` until then. */
  durationMs: number | null = null;
  status = 0;
  readonly #keepsPrompt: boolean;
  /** By the monotonic clock: the other one may be set while a request runs. */
  readonly #startedAt = performance.now();
  /** One number for each prompt. */
  readonly #cachedTokens: number[] = [];
  #streams: readonly TokenStream[] = [];
  #prompts: readonly TokenStream[] = [];
  #series: ModelSeries | null = null;
  #completions = 0;

  constructor(
    private readonly metrics: Metrics,
    readonly arrival: Arrival,
    { keepsPrompt = false }: { keepsPrompt?: boolean } = {},
  ) {
    this.#keepsPrompt = keepsPrompt;
  }

  /** Counts the tokens of the streams as they are read. */
  follow(
    model: string,
    streams: readonly TokenStream[],
    { choicesPerPrompt = streams.length, prompt = null }: FollowOptions = {},
  ): void {
    const series = this.metrics.forModel(model);
    this.model = model;
    if (this.#keepsPrompt && prompt !== null) this.prompt = readablePrompt(prompt).slice(0, MAX_PROMPT_LENGTH);
    this.#series = series;
    this.#completions = streams.length;
    this.#streams = streams;
    this.#prompts = streams.filter((_, index) => index % choicesPerPrompt === 0);
    for (const [index, stream] of streams.entries()) {
      const promptIndex = Math.floor(index / choicesPerPrompt);
      let lastAt: number | null = null;
      stream.observe((tokens) => {
        const now = performance.now();
        const finish = tokens.at(-1)?.finish;
        this.generatedTokens += tokens.length;
        series.generatedTokens.add(tokens.length);
        if (lastAt !== null) series.betweenTokens.observe((now - lastAt) / 1000);
        else if (this.firstTokenMs === null) {
          // A completion that is not streamed comes in one batch, at its end. The engine knows when it began.
          this.firstTokenMs = Math.max(0, now - this.#startedAt - (finish?.timings.predictedMs ?? 0));
          series.firstToken.observe(this.firstTokenMs / 1000);
        }
        if (finish) this.#finish(series, finish, promptIndex);
        lastAt = now;
      });
    }
  }

  /** Prefill progress of all prompts together; `null` before tokenization, and if the engine does not report it. */
  get prefill(): Prefill | null {
    const parts = this.#prompts.flatMap(({ prefill }) => prefill ?? []);
    if (parts.length === 0) return null;
    const sum = (numberOf: (part: Prefill) => number) => parts.reduce((total, part) => total + numberOf(part), 0);
    return { computed: sum(({ computed }) => computed), total: sum(({ total }) => total) };
  }

  /** Tokens computed so far, including those that a reply in one piece still holds back. */
  get computed(): { promptTokens: number; generatedTokens: number; cachedTokens: number } {
    const unread = this.#streams.reduce((sum, stream) => sum + (stream.unread ?? 0), 0);
    const cached = this.#prompts.reduce((sum, { prefill }) => sum + (prefill?.cached ?? 0), 0);
    return {
      promptTokens: this.promptTokens || (this.prefill?.computed ?? 0),
      generatedTokens: this.generatedTokens + unread,
      cachedTokens: this.cachedTokens || cached,
    };
  }

  /** Counts the tokens of texts that were embedded or ranked. */
  readTexts(model: string, tokens: number): void {
    this.model = model;
    this.promptTokens = tokens;
    this.metrics.forModel(model).promptTokens.add(tokens);
  }

  /** Keeps the code of the first error, because it causes those that follow. */
  failed(code: ErrorCode): void {
    this.errorCode ??= code;
  }

  /** Call this when the reply is over, whether or not it was sent. */
  end(status: number): void {
    this.status = status;
    this.durationMs = performance.now() - this.#startedAt;
    if (this.errorCode !== null) this.metrics.requestFailed(this.errorCode);
    this.metrics.replied(this.arrival.endpoint ?? 'unknown', status);
    const unfinished = this.#completions - this.finishReasons.length;
    if (this.#series === null || unfinished === 0) return;
    this.#series.unfinished(unfinished, this.errorCode === 'client_closed_request' ? 'abort' : 'error');
  }

  #finish(series: ModelSeries, finish: Finish, promptIndex: number): void {
    series.finished(finish);
    this.finishReasons.push(finish.reason);
    // Like `usage`, this counts a shared prompt once. The choice that was computed first found the least of it cached.
    const found = this.#cachedTokens[promptIndex];
    if (found === undefined) {
      series.promptTokens.add(finish.promptTokens);
      this.promptTokens += finish.promptTokens;
    }
    const cached = Math.min(found ?? Number.POSITIVE_INFINITY, finish.cachedTokens);
    this.cachedTokens += cached - (found ?? 0);
    this.#cachedTokens[promptIndex] = cached;
    const sinceArrival = performance.now() - this.#startedAt;
    if (this.timings === null) {
      this.timings = finish.timings;
      this.timingsEndMs = sinceArrival;
    }
    if (this.finishReasons.length === this.#completions) series.whole.observe(sinceArrival / 1000);
  }
}

/** The header `traceparent` of W3C Trace Context, which says what trace a request belongs to. */
export interface TraceParent {
  /** 32 hexadecimal digits; the span's id has 16. */
  traceId: string;
  spanId: string;
  flags: number;
}

/** Later versions of the standard may append fields, but not without a limit. */
const MAX_LENGTH = 256;
const FORM = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Returns `null` for an invalid header, which the standard demands to ignore. */
export function readTraceParent(header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string' || header.length > MAX_LENGTH) return null;
  const [, version, traceId, spanId, flags, more] = FORM.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === '00' && more !== undefined) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** The text of the header. */
export function toTraceParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}
