import type { Token, TokenStream } from './engine.js';

type Settle = { resolve(result: IteratorResult<Token[]>): void; reject(error: unknown): void };

/**
 * The reading end of one job. The engine pushes tokens and says when a wake is over; whoever iterates takes them one by
 * one or a wake at a time.
 */
export class JobStream implements TokenStream {
  #ready: Token[] = [];
  #position = 0;
  #ended = false;
  #error: unknown;
  #waiting: Settle | null = null;
  readonly #onEnd: (left: boolean) => void;

  /** `onEnd` is called once; `left` says that the reader went away before the engine was done. */
  constructor(onEnd: (left: boolean) => void) {
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Adds a token without waking the reader. */
  push(token: Token): void {
    if (this.#ended) return;
    this.#ready.push(token);
    if (token.finish !== undefined) this.#end(false);
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
    const waiting = this.#waiting;
    if (waiting === null) return;
    if (this.#hasReady()) {
      this.#waiting = null;
      waiting.resolve({ done: false, value: this.#takeAll() });
    } else if (this.#ended) {
      this.#waiting = null;
      this.#settleEnd(waiting);
    }
  }

  async next(): Promise<IteratorResult<Token>> {
    const token = this.#ready[this.#position];
    if (token !== undefined) {
      this.#position += 1;
      return { done: false, value: token };
    }
    const batch = await this.#nextBatch();
    if (batch.done) return { done: true, value: undefined };
    // More may have been pushed between the wake and this line.
    this.#ready = this.#hasReady() ? batch.value.concat(this.#takeAll()) : batch.value;
    this.#position = 1;
    return { done: false, value: batch.value[0] as Token };
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

  batches(): AsyncIterableIterator<Token[]> {
    const iterator: AsyncIterableIterator<Token[]> = {
      next: () => this.#nextBatch(),
      return: async () => {
        await this.return();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  #nextBatch(): Promise<IteratorResult<Token[]>> {
    if (this.#hasReady()) return Promise.resolve({ done: false, value: this.#takeAll() });
    return new Promise((resolve, reject) => {
      if (this.#waiting !== null) {
        reject(new TypeError('A token stream has one reader: await each next() before calling it again.'));
        return;
      }
      this.#waiting = { resolve, reject };
      if (this.#ended) this.flush();
    });
  }

  #hasReady(): boolean {
    return this.#position < this.#ready.length;
  }

  #takeAll(): Token[] {
    const tokens = this.#position === 0 ? this.#ready : this.#ready.slice(this.#position);
    this.#ready = [];
    this.#position = 0;
    return tokens;
  }

  #settleEnd(waiting: Settle): void {
    const error = this.#error;
    this.#error = undefined;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
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
    this.#onEnd(left);
  }
}
