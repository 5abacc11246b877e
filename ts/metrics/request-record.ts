/** The measurements of one request. Its route and its streams update them; the log and the metrics read them. */
import type { Finish, Prefill, Timings, TokenStream } from '../engine/engine.js';
import type { ErrorCode } from '../errors.js';
import { type Batch, FollowedStream } from './followed-stream.js';
import type { Metrics } from './metrics.js';
import type { ModelSeries } from './model-series.js';
import type { TraceParent } from './trace-parent.js';

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
  readonly arrival: Arrival;
  /** Milliseconds since 1970. */
  readonly arrivedAt = Date.now();
  model: string | null = null;
  /** The beginning of the prompt, if prompts are logged. */
  prompt: string | null = null;
  promptTokens = 0;
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
  readonly #metrics: Metrics;
  readonly #keepsPrompt: boolean;
  readonly #startedAt = performance.now();
  /** One number for each prompt. */
  readonly #cachedTokens: number[] = [];
  /** The first stream of each prompt. */
  #prompts: readonly TokenStream[] = [];
  #series: ModelSeries | null = null;
  #completions = 0;

  constructor(metrics: Metrics, arrival: Arrival, { keepsPrompt = false }: { keepsPrompt?: boolean } = {}) {
    this.#metrics = metrics;
    this.#keepsPrompt = keepsPrompt;
    this.arrival = arrival;
  }

  /** Returns the streams, wrapped to count their tokens as they are read. */
  follow(
    model: string,
    streams: readonly TokenStream[],
    { choicesPerPrompt = streams.length, prompt = null }: FollowOptions = {},
  ): TokenStream[] {
    const series = this.#metrics.forModel(model);
    this.model = model;
    if (this.#keepsPrompt && prompt !== null) this.prompt = prompt.slice(0, MAX_PROMPT_LENGTH);
    this.#series = series;
    this.#completions = streams.length;
    this.#prompts = streams.filter((_, index) => index % choicesPerPrompt === 0);
    return streams.map((stream, index) => {
      const promptIndex = Math.floor(index / choicesPerPrompt);
      return new FollowedStream(stream, (batch) => {
        this.#count(series, batch);
        if (batch.finish) this.#finish(series, batch.finish, promptIndex);
      });
    });
  }

  /** How many of the prompts' tokens were found in the prefix cache. */
  get cachedTokens(): number {
    return this.#cachedTokens.reduce((sum, tokens) => sum + tokens, 0);
  }

  /** Prefill progress of all prompts together; `null` before tokenization, and if the engine does not report it. */
  get prefill(): Prefill | null {
    const parts = this.#prompts.flatMap(({ prefill }) => prefill ?? []);
    if (parts.length === 0) return null;
    const sum = (numberOf: (part: Prefill) => number) => parts.reduce((total, part) => total + numberOf(part), 0);
    return { computed: sum(({ computed }) => computed), total: sum(({ total }) => total) };
  }

  /** Counts the tokens of texts that were embedded or ranked. */
  readTexts(model: string, tokens: number): void {
    this.model = model;
    this.promptTokens = tokens;
    this.#metrics.forModel(model).promptTokens.add(tokens);
  }

  /** Keeps the code of the first error, because it causes those that follow. */
  failed(code: ErrorCode): void {
    this.errorCode ??= code;
  }

  /** Call this when the reply is over, whether or not it was sent. */
  end(status: number): void {
    this.status = status;
    this.durationMs = this.#sinceArrival();
    if (this.errorCode !== null) this.#metrics.requestFailed(this.errorCode);
    this.#metrics.replied(this.arrival.endpoint ?? 'unknown', status);
    const unfinished = this.#completions - this.finishReasons.length;
    if (this.#series === null || unfinished === 0) return;
    this.#series.unfinished(unfinished, this.errorCode === 'client_closed_request' ? 'abort' : 'error');
  }

  #count(series: ModelSeries, { tokens, waitedMs, finish }: Batch): void {
    this.generatedTokens += tokens;
    series.generatedTokens.add(tokens);
    if (waitedMs !== null) {
      series.betweenTokens.observe(waitedMs / 1000);
    } else if (this.firstTokenMs === null) {
      // A completion that is not streamed comes in one batch, at its end. The engine knows when it began.
      const sinceFirstMs = finish?.timings.predictedMs ?? 0;
      this.firstTokenMs = Math.max(0, this.#sinceArrival() - sinceFirstMs);
      series.firstToken.observe(this.firstTokenMs / 1000);
    }
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
    this.#cachedTokens[promptIndex] = Math.min(found ?? Number.POSITIVE_INFINITY, finish.cachedTokens);
    const sinceArrival = this.#sinceArrival();
    if (this.timings === null) {
      this.timings = finish.timings;
      this.timingsEndMs = sinceArrival;
    }
    if (this.finishReasons.length === this.#completions) series.whole.observe(sinceArrival / 1000);
  }

  /** By the monotonic clock: the other one may be set while a request runs. */
  #sinceArrival(): number {
    return performance.now() - this.#startedAt;
  }
}
