/** The tokens of jobs on their way from the engine to their readers. */
import { ChasquiError, type ErrorCode } from '../errors.js';
import { FIELDS_PER_RECORD, type NativeFailure, type NativeLogprobs, RECORD_FLAGS } from '../native/addon.js';
import { GROWTH_FLAGS, type ParsedText } from './core.js';
import type { AbortOptions, Finish, JobControl, Prefill, Token, TokenStream } from './engine-types.js';

interface Reader {
  /** Waits for the end. */
  whole: boolean;
  wake(): void;
  reject(error: unknown): void;
}

/** A reader this many tokens behind pauses its job, which resumes at the lower mark. */
const PAUSE_AT = 1024;
const RESUME_AT = 256;

/** The engine that computes the job. */
export interface JobSource {
  /** Called once. `left`: the reader has left before the end of the job. `finish`: the job has finished. */
  onEnd(left: boolean, finish?: Finish): void;
  onBacklog(paused: boolean): void;
  onControl?(action: JobControl): void;
}

export interface JobStreamOptions extends AbortOptions {
  /** `forEachBatch` gives all tokens at the end; default false. */
  whole?: boolean;
  /** The first token has come. */
  onBegin?: () => void;
  /** Called once, at the end of the stream. `complete`: the job has finished. */
  onEnd?: (complete: boolean) => void;
  /** Starts a job again that failed before its reader could have seen anything, or ends the stream. */
  restart?: (error: unknown) => void;
}

/**
 * The reading end of one job. The engine pushes tokens and flushes after each wake; the reader takes single tokens or all
 * that are ready.
 */
export class JobStream implements TokenStream {
  /** Set by this class alone. */
  ended = false;
  #ready: Token[] = [];
  #error: unknown;
  #reader: Reader | null = null;
  #source: JobSource | null = null;
  #begun = false;
  #delivered = false;
  #paused = false;
  promptLogprobs: NativeLogprobs[] = [];
  /** Length of the prompt; 0 until it is tokenized. Set by the source. */
  promptTokens = 0;
  #computedTokens = 0;
  #cachedTokens: number | null = null;
  readonly #observers: ((tokens: readonly Token[]) => void)[] = [];
  readonly #options: JobStreamOptions;
  readonly #onAbort = () => this.abort(this.#options.signal?.reason);

  constructor(options: JobStreamOptions = {}) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.abort(signal.reason);
    else signal?.addEventListener('abort', this.#onAbort);
  }

  get prefill(): Prefill | null {
    if (this.promptTokens === 0) return null;
    const known = { computed: this.#computedTokens, total: this.promptTokens };
    return this.#cachedTokens === null ? known : { ...known, cached: this.#cachedTokens };
  }

  get unread(): number {
    return this.#ready.length;
  }

  observe(listener: (tokens: readonly Token[]) => void): void {
    this.#observers.push(listener);
  }

  control(action: JobControl): void {
    if (!this.ended) this.#source?.onControl?.(action);
  }

  /** From now on `source` computes the job, from its beginning. */
  attach(source: JobSource): void {
    this.#source = source;
    this.promptLogprobs = [];
    this.promptTokens = 0;
    this.#computedTokens = 0;
    this.#cachedTokens = null;
  }

  /** Tells how much of the prompt is computed; the first time, that is what was cached. */
  progress(computedTokens: number): void {
    this.#cachedTokens ??= computedTokens;
    this.#computedTokens = computedTokens;
  }

  /** Adds a token without waking the reader. Returns whether `flush` has to be called at the end of the wake. */
  push(token: Token): boolean {
    if (this.ended) return false;
    this.#computedTokens = this.promptTokens;
    if (!this.#begun) {
      this.#begun = true;
      this.#options.onBegin?.();
    }
    const isFirst = this.#ready.length === 0;
    // Most lists hold one token, and a list that is made with it takes a tenth of the memory of one that grows by it.
    if (isFirst) this.#ready = [token];
    else this.#ready.push(token);
    if (token.finish === undefined) {
      this.#watchBacklog();
      return isFirst;
    }
    this.#end(false, token.finish);
    return true;
  }

  /** The job failed: restarts it if the reader has seen no token, else ends the stream with `error`. */
  fail(error: unknown): void {
    const { restart, whole } = this.#options;
    if (this.ended) return;
    if (restart === undefined || (whole ? this.#delivered : this.#begun)) {
      this.end(error);
      return;
    }
    const source = this.#source;
    this.#source = null;
    source?.onEnd(false);
    this.#ready = [];
    this.#begun = false;
    this.#paused = false;
    restart(error);
  }

  /** Ends the stream: the reader gets the tokens that are ready, then `error`. */
  end(error: unknown): void {
    if (this.#options.whole && !this.#delivered) this.#ready = [];
    this.#endWith(error, false);
  }

  /** Ends the stream now: the reader gets `reason`, and no more tokens. */
  abort(reason: unknown): void {
    this.#ready = [];
    this.#endWith(reason, true);
  }

  /** Wakes the waiting reader if tokens are ready or the stream has ended. */
  flush(): void {
    const reader = this.#reader;
    if (reader === null || !(this.ended || (this.#ready.length > 0 && !reader.whole))) return;
    this.#reader = null;
    reader.wake();
  }

  async next(): Promise<IteratorResult<Token>> {
    while (this.#ready.length === 0 && !this.ended) {
      await new Promise<void>((wake, reject) => this.#wait({ whole: false, wake, reject }));
    }
    const token = this.#take(this.#ready.splice(0, 1))?.[0];
    return token === undefined ? { done: true, value: undefined } : { done: false, value: token };
  }

  async return(): Promise<IteratorResult<Token>> {
    this.#ready = [];
    this.#error = undefined;
    this.#end(true);
    this.flush();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown): void => {
        reject(reason);
        void this.return();
      };
      const wake = (): void => {
        const ready = this.#ready;
        this.#ready = [];
        try {
          const tokens = this.#take(ready);
          if (tokens === null) {
            resolve();
            return;
          }
          const taking = take(tokens);
          if (taking === undefined) this.#wait(reader);
          else taking.then(() => this.#wait(reader), leave);
        } catch (thrown) {
          leave(thrown);
        }
      };
      const reader: Reader = { whole: this.#options.whole ?? false, wake, reject };
      this.#wait(reader);
    });
  }

  #wait(reader: Reader): void {
    if (this.#reader !== null) {
      const message = 'A token stream has one reader: await each next() before calling it again.';
      reader.reject(new ChasquiError('stream_consumed', message));
      return;
    }
    this.#reader = reader;
    if (this.#paused) this.#watchBacklog();
    this.flush();
  }

  /** Hands out tokens that are no longer ready. Without any, the stream has ended: throws its failure or returns `null`. */
  #take(tokens: Token[]): Token[] | null {
    if (tokens.length === 0) {
      const error = this.#error;
      this.#error = undefined;
      if (error !== undefined) throw error;
      return null;
    }
    this.#delivered = true;
    if (this.#paused) this.#watchBacklog();
    for (const observe of this.#observers) observe(tokens);
    return tokens;
  }

  #endWith(error: unknown, left: boolean): void {
    if (this.ended) return;
    this.#error = error;
    this.#end(left);
    this.flush();
  }

  #end(left: boolean, finish?: Finish): void {
    if (this.ended) return;
    this.ended = true;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#source?.onEnd(left, finish);
    this.#options.onEnd?.(finish !== undefined);
  }

  #watchBacklog(): void {
    const unread = this.#reader?.whole ? 0 : this.#ready.length;
    const pause = this.#paused ? unread > RESUME_AT : unread >= PAUSE_AT;
    if (pause === this.#paused || this.ended) return;
    this.#paused = pause;
    this.#source?.onBacklog(pause);
  }
}

/** Dispatches the events of one wake to their streams, then wakes each reader once. */
export function deliver(
  streams: ReadonlyMap<number, JobStream>,
  records: Int32Array,
  count: number,
  text: string,
  extras: readonly unknown[],
  parsed?: ReadonlyMap<number, ParsedText>,
): void {
  const touched: JobStream[] = [];
  let textAt = 0;
  let extraAt = 0;
  for (let at = 0; at < count * FIELDS_PER_RECORD; at += FIELDS_PER_RECORD) {
    const textEnd = textAt + (records[at + 2] as number);
    const flags = records[at + 3] as number;
    if (flags & RECORD_FLAGS.progress) {
      streams.get(records[at] as number)?.progress(records[at + 1] as number);
      continue;
    }
    if (flags & RECORD_FLAGS.prompt) {
      const logprobs = extras[extraAt++] as NativeLogprobs;
      streams.get(records[at] as number)?.promptLogprobs.push(logprobs);
      continue;
    }
    const token: Token = { id: records[at + 1] as number, text: text.slice(textAt, textEnd) };
    textAt = textEnd;
    if (flags & RECORD_FLAGS.logprobs) token.logprobs = extras[extraAt++] as NativeLogprobs;
    if (flags & RECORD_FLAGS.finish) token.finish = extras[extraAt++] as Finish;
    const grown = parsed?.get(at / FIELDS_PER_RECORD);
    if (grown !== undefined) {
      token.deltas = grown.deltas;
      if (token.finish && grown.reasoningTokens !== undefined) token.finish.reasoningTokens = grown.reasoningTokens;
    } else if (flags & GROWTH_FLAGS.content) token.deltas = [{ content: token.text }];
    else if (flags & GROWTH_FLAGS.reasoning) token.deltas = [{ reasoning: token.text }];
    const failure = flags & RECORD_FLAGS.failure ? (extras[extraAt++] as NativeFailure) : null;
    // The engine may produce one more token after the reader has left.
    const stream = streams.get(records[at] as number);
    if (stream === undefined) continue;
    if (failure !== null) stream.fail(toError(failure));
    else if (stream.push(token)) touched.push(stream);
  }
  for (const stream of touched) stream.flush();
}

function toError({ code, message, imageIndex, promptTokens, contextLength }: NativeFailure): ChasquiError {
  const error = new ChasquiError(code as ErrorCode, message);
  return Object.assign(error, { imageIndex, promptTokens, contextLength });
}
