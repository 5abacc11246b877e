import type { AbortOptions, Finish, Prefill, Token, TokenStream } from './engine-types.js';

/** A reader that waits for tokens; exactly one of these is called. */
interface Reader {
  /** Takes all tokens at the end. */
  whole: boolean;
  onBatch(tokens: Token[]): void;
  onEnd(): void;
  onError(error: unknown): void;
}

/** A reader this many tokens behind pauses its job, which resumes at the lower mark. */
const PAUSE_AT = 1024;
const RESUME_AT = 256;

/** The engine that computes the job. */
export interface JobSource {
  /** Called once. `left`: the reader has left before the end of the job. */
  onEnd(left: boolean): void;
  onFinish(finish: Finish): void;
  onBacklog(paused: boolean): void;
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
  #ready: Token[] = [];
  #position = 0;
  #ended = false;
  #error: unknown;
  #reader: Reader | null = null;
  #source: JobSource | null = null;
  #begun = false;
  #delivered = false;
  #paused = false;
  #promptTokens = 0;
  #computedTokens = 0;
  #cachedTokens: number | null = null;
  readonly #options: JobStreamOptions;
  readonly #onAbort = () => this.abort(this.#options.signal?.reason);

  constructor(options: JobStreamOptions = {}) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.abort(signal.reason);
    else signal?.addEventListener('abort', this.#onAbort);
  }

  get ended(): boolean {
    return this.#ended;
  }

  get prefill(): Prefill | null {
    if (this.#promptTokens === 0) return null;
    const known = { computed: this.#computedTokens, total: this.#promptTokens };
    return this.#cachedTokens === null ? known : { ...known, cached: this.#cachedTokens };
  }

  /** From now on `source` computes the job, from its beginning. */
  attach(source: JobSource): void {
    this.#source = source;
    this.#promptTokens = 0;
    this.#computedTokens = 0;
    this.#cachedTokens = null;
  }

  /** Tells the length of the prompt. */
  prepared(promptTokens: number): void {
    this.#promptTokens = promptTokens;
  }

  /** Tells how much of the prompt is computed; the first time, that is what was cached. */
  progress(computedTokens: number): void {
    this.#cachedTokens ??= computedTokens;
    this.#computedTokens = computedTokens;
  }

  /** Adds a token without waking the reader. Returns whether `flush` has to be called at the end of the wake. */
  push(token: Token): boolean {
    if (this.#ended) return false;
    this.#computedTokens = this.#promptTokens;
    if (!this.#begun) {
      this.#begun = true;
      this.#options.onBegin?.();
    }
    const isFirst = !this.#hasReady();
    // Most lists hold one token, and a list that is made with it takes a tenth of the memory of one that grows by it.
    if (isFirst) this.#setReady([token]);
    else this.#ready.push(token);
    if (token.finish === undefined) {
      this.#watchBacklog();
      return isFirst;
    }
    this.#source?.onFinish(token.finish);
    this.#end(true, false);
    return true;
  }

  /** The job failed: restarts it if the reader has seen no token, else ends the stream with `error`. */
  fail(error: unknown): void {
    const { restart, whole } = this.#options;
    if (this.#ended) return;
    if (restart === undefined || (whole ? this.#delivered : this.#begun)) {
      this.end(error);
      return;
    }
    const source = this.#source;
    this.#source = null;
    source?.onEnd(false);
    this.#setReady([]);
    this.#begun = false;
    this.#paused = false;
    restart(error);
  }

  /** Ends the stream: the reader gets the tokens that are ready, then `error`. */
  end(error: unknown): void {
    if (this.#options.whole && !this.#delivered) this.#setReady([]);
    this.#endWith(error, false);
  }

  /** Ends the stream now: the reader gets `reason`, and no more tokens. */
  abort(reason: unknown): void {
    this.#setReady([]);
    this.#endWith(reason, true);
  }

  /** Gives the waiting reader the tokens that are ready, or the end. */
  flush(): void {
    const reader = this.#reader;
    if (reader === null) return;
    if (this.#hasReady()) {
      if (reader.whole && !this.#ended) return;
      this.#reader = null;
      reader.onBatch(this.#takeAll());
    } else if (this.#ended) {
      this.#reader = null;
      const error = this.#error;
      this.#error = undefined;
      if (error === undefined) reader.onEnd();
      else reader.onError(error);
    }
  }

  async next(): Promise<IteratorResult<Token>> {
    const token = this.#ready[this.#position];
    if (token !== undefined) {
      this.#position += 1;
      this.#delivered = true;
      if (this.#paused) this.#watchBacklog();
      return { done: false, value: token };
    }
    const batch = await new Promise<Token[] | null>((resolve, reject) => {
      this.#read({ whole: false, onBatch: resolve, onEnd: () => resolve(null), onError: reject });
    });
    if (batch === null) return { done: true, value: undefined };
    // More may have been pushed between the wake and this line.
    this.#ready = this.#hasReady() ? batch.concat(this.#takeAll()) : batch;
    this.#position = 1;
    return { done: false, value: batch[0] as Token };
  }

  async return(): Promise<IteratorResult<Token>> {
    this.#setReady([]);
    this.#error = undefined;
    this.#end(false, true);
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
      const readOn = (): void => this.#read(reader);
      const reader: Reader = {
        whole: this.#options.whole ?? false,
        onBatch: (tokens) => {
          try {
            const taking = take(tokens);
            if (taking === undefined) readOn();
            else taking.then(readOn, leave);
          } catch (thrown) {
            leave(thrown);
          }
        },
        onEnd: resolve,
        onError: reject,
      };
      readOn();
    });
  }

  #read(reader: Reader): void {
    if (this.#reader !== null) {
      reader.onError(new TypeError('A token stream has one reader: await each next() before calling it again.'));
      return;
    }
    this.#reader = reader;
    if (this.#paused) this.#watchBacklog();
    this.flush();
  }

  #setReady(tokens: Token[]): void {
    this.#ready = tokens;
    this.#position = 0;
  }

  #hasReady(): boolean {
    return this.#position < this.#ready.length;
  }

  #takeAll(): Token[] {
    const tokens = this.#position === 0 ? this.#ready : this.#ready.slice(this.#position);
    this.#setReady([]);
    this.#delivered = true;
    if (this.#paused) this.#watchBacklog();
    return tokens;
  }

  #endWith(error: unknown, left: boolean): void {
    if (this.#ended) return;
    this.#error = error;
    this.#end(false, left);
    this.flush();
  }

  #end(complete: boolean, left: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#source?.onEnd(left);
    this.#options.onEnd?.(complete);
  }

  #watchBacklog(): void {
    const unread = this.#reader?.whole ? 0 : this.#ready.length - this.#position;
    const pause = this.#paused ? unread > RESUME_AT : unread >= PAUSE_AT;
    if (pause === this.#paused || this.#ended) return;
    this.#paused = pause;
    this.#source?.onBacklog(pause);
  }
}
