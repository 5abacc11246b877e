import type { Finish, Prefill, Token, TokenStream } from './engine.js';

/** Who waits for tokens; told once, by one of these. */
interface Reader {
  onBatch(tokens: Token[]): void;
  onEnd(): void;
  onError(error: unknown): void;
}

/** A reader this many tokens behind pauses its job; once it has caught up to the lower mark the job goes on. */
const PAUSE_AT = 1024;
const RESUME_AT = 256;

/** What a stream tells the engine. */
export interface StreamListener {
  /** Called once; `left` says that the reader went away before the engine was done. */
  onEnd(left: boolean): void;
  /** The job ended well. */
  onFinish(finish: Finish): void;
  /** The reader is behind, or has caught up. */
  onBacklog(paused: boolean): void;
}

/**
 * The reading end of one job. The engine pushes tokens and says when a wake is over; whoever reads takes them one by one
 * or a wake at a time.
 */
export class JobStream implements TokenStream {
  #ready: Token[] = [];
  #position = 0;
  #ended = false;
  #error: unknown;
  #reader: Reader | null = null;
  #paused = false;
  #promptTokens = 0;
  #computedTokens = 0;
  #cachedTokens: number | null = null;
  readonly #listener: StreamListener;

  constructor(listener: StreamListener) {
    this.#listener = listener;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get prefill(): Prefill | null {
    if (this.#promptTokens === 0) return null;
    const known = { computed: this.#computedTokens, total: this.#promptTokens };
    return this.#cachedTokens === null ? known : { ...known, cached: this.#cachedTokens };
  }

  /** The job has a prompt of so many tokens. */
  prepared(promptTokens: number): void {
    this.#promptTokens = promptTokens;
  }

  /** So many tokens of the prompt are computed: at first, those that were cached. */
  progress(computedTokens: number): void {
    this.#cachedTokens ??= computedTokens;
    this.#computedTokens = computedTokens;
  }

  /** Adds a token without waking the reader. Returns whether it is the only one there, so that the reader may wait for it. */
  push(token: Token): boolean {
    if (this.#ended) return false;
    this.#computedTokens = this.#promptTokens;
    const isFirst = !this.#hasReady();
    if (isFirst) this.#startReady(token);
    else this.#ready.push(token);
    if (token.finish === undefined) {
      this.#watchBacklog();
    } else {
      this.#listener.onFinish(token.finish);
      this.#end(false);
    }
    return isFirst;
  }

  /** Ends the stream: the reader gets what is there already, then `error`. */
  fail(error: unknown): void {
    this.#endWith(error, false);
  }

  /** Ends the stream now: unread tokens are dropped and the reader gets `reason`. */
  abort(reason: unknown): void {
    this.#ready = [];
    this.#position = 0;
    this.#endWith(reason, true);
  }

  /** Wakes the reader, if it waits and there is something for it. */
  flush(): void {
    const reader = this.#reader;
    if (reader === null) return;
    if (this.#hasReady()) {
      this.#reader = null;
      reader.onBatch(this.#takeAll());
    } else if (this.#ended) {
      this.#reader = null;
      this.#tellEnd(reader);
    }
  }

  async next(): Promise<IteratorResult<Token>> {
    const token = this.#ready[this.#position];
    if (token !== undefined) {
      this.#position += 1;
      if (this.#paused) this.#watchBacklog();
      return { done: false, value: token };
    }
    const batch = await this.#nextBatch();
    if (batch === null) return { done: true, value: undefined };
    // More may have been pushed between the wake and this line.
    this.#ready = this.#hasReady() ? batch.concat(this.#takeAll()) : batch;
    this.#position = 1;
    return { done: false, value: batch[0] as Token };
  }

  async return(): Promise<IteratorResult<Token>> {
    this.#ready = [];
    this.#position = 0;
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
      const takeBatch = (tokens: Token[]): void | Promise<void> => {
        try {
          return take(tokens);
        } catch (thrown) {
          leave(thrown);
        }
      };
      const readOn = (): void => this.#read(reader);
      const reader: Reader = {
        onBatch: (tokens) => {
          const taking = takeBatch(tokens);
          if (taking === undefined) readOn();
          else taking.then(readOn, leave);
        },
        onEnd: resolve,
        onError: reject,
      };
      readOn();
    });
  }

  /** Resolves with `null` at the end. */
  #nextBatch(): Promise<Token[] | null> {
    return new Promise((resolve, reject) => {
      this.#read({ onBatch: resolve, onEnd: () => resolve(null), onError: reject });
    });
  }

  #read(reader: Reader): void {
    if (this.#reader !== null) {
      reader.onError(new TypeError('A token stream has one reader: await each next() before calling it again.'));
      return;
    }
    this.#reader = reader;
    this.flush();
  }

  /** A list that is made with its token takes a tenth of the memory of one that grows by it, and most have just one. */
  #startReady(token: Token): void {
    this.#ready = [token];
    this.#position = 0;
  }

  #hasReady(): boolean {
    return this.#position < this.#ready.length;
  }

  #takeAll(): Token[] {
    const tokens = this.#position === 0 ? this.#ready : this.#ready.slice(this.#position);
    this.#ready = [];
    this.#position = 0;
    if (this.#paused) this.#watchBacklog();
    return tokens;
  }

  #tellEnd(reader: Reader): void {
    const error = this.#error;
    this.#error = undefined;
    if (error === undefined) reader.onEnd();
    else reader.onError(error);
  }

  #endWith(error: unknown, left: boolean): void {
    if (this.#ended) return;
    this.#error = error;
    this.#end(left);
    this.flush();
  }

  #end(left: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener.onEnd(left);
  }

  #watchBacklog(): void {
    const unread = this.#ready.length - this.#position;
    const pause = this.#paused ? unread > RESUME_AT : unread >= PAUSE_AT;
    if (pause === this.#paused || this.#ended) return;
    this.#paused = pause;
    this.#listener.onBacklog(pause);
  }
}
