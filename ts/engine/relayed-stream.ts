/** The tokens of a job that has to be started first, and perhaps once more: by whoever knows how. */
import type { Prefill, Token, TokenStream } from './engine.js';

/**
 * Starts the job. `failure` is `undefined` the first time; then it is what the last start failed with before there was a
 * token, and what is not worth another start is thrown again.
 */
export type StartJob = (failure: unknown) => Promise<TokenStream>;

/** What the stream tells whoever starts it. */
export interface RelayListener {
  /** The first token has come. */
  onBegin(): void;
  /** Called once: nothing more comes, perhaps because the reader has left. `well`: the reader got the last token. */
  onEnd(well: boolean): void;
}

export class RelayedStream implements TokenStream {
  readonly #start: StartJob;
  readonly #listener: RelayListener | undefined;
  readonly #whole: boolean;
  #source: Promise<TokenStream>;
  /** The same, once it has started. */
  #started: TokenStream | null = null;
  #begun = false;
  #left = false;
  #ended = false;

  /**
   * With `whole`, `forEachBatch` gives all tokens at the end, in one batch: a job that fails before it can then be started
   * once more, for nobody has seen any of it.
   */
  constructor(start: StartJob, listener?: RelayListener, whole = false) {
    this.#start = start;
    this.#whole = whole;
    this.#listener = listener;
    this.#source = this.#watched(start(undefined));
  }

  get prefill(): Prefill | null {
    return this.#started?.prefill ?? null;
  }

  async next(): Promise<IteratorResult<Token>> {
    return this.#untilBegun(async (source) => {
      const result = await source.next();
      if (!this.#begun) this.#begin();
      if (result.done) this.#end(true);
      return result;
    });
  }

  async forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void> {
    const read = (source: TokenStream): Promise<void> => {
      return source.forEachBatch((tokens) => {
        if (!this.#begun) this.#begin();
        return take(tokens);
      });
    };
    await this.#untilBegun(this.#whole ? (source) => this.#readWhole(source, take) : read);
    this.#end(true);
  }

  async #readWhole(source: TokenStream, take: (tokens: Token[]) => void | Promise<void>): Promise<void> {
    const all: Token[] = [];
    await source.forEachBatch((tokens) => {
      this.#listener?.onBegin();
      for (const token of tokens) all.push(token);
    });
    if (this.#left) return;
    this.#begun = true;
    await take(all);
  }

  async return(): Promise<IteratorResult<Token>> {
    this.#left = true;
    this.#end(false);
    // What has not started yet is left as soon as it has.
    void this.#source.then(
      (source) => source.return(),
      () => {},
    );
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #begin(): void {
    this.#begun = true;
    this.#listener?.onBegin();
  }

  async #untilBegun<T>(read: (source: TokenStream) => Promise<T>): Promise<T> {
    for (;;) {
      const source = await this.#source.catch((failure) => this.#fail(failure));
      try {
        return await read(source);
      } catch (failure) {
        if (this.#begun || this.#left) this.#fail(failure);
        this.#source = this.#watched(this.#start(failure));
      }
    }
  }

  #fail(failure: unknown): never {
    this.#end(false);
    throw failure;
  }

  #end(well: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener?.onEnd(well);
  }

  /** A stream that is not read yet may fail all the same: whoever reads it later is told. */
  #watched(starting: Promise<TokenStream>): Promise<TokenStream> {
    starting.then(
      (stream) => (this.#started = stream),
      () => {},
    );
    return starting;
  }
}
