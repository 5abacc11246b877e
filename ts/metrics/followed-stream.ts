import type { Finish, Token, TokenStream } from '../engine/engine.js';

export interface TokenListener {
  /** Called with each batch. `waitedMs` is the time since the batch before it, `null` for the first. */
  onTokens(count: number, waitedMs: number | null): void;
  onFinish(finish: Finish): void;
}

/** A stream that reports to a listener what its reader gets. */
export class FollowedStream implements TokenStream {
  readonly #stream: TokenStream;
  readonly #listener: TokenListener;
  #lastAt: number | null = null;

  constructor(stream: TokenStream, listener: TokenListener) {
    this.#stream = stream;
    this.#listener = listener;
  }

  forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void> {
    return this.#stream.forEachBatch((tokens) => {
      this.#report(tokens);
      return take(tokens);
    });
  }

  async next(): Promise<IteratorResult<Token>> {
    const result = await this.#stream.next();
    if (!result.done) this.#report([result.value]);
    return result;
  }

  return(): Promise<IteratorResult<Token>> {
    return this.#stream.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #report(tokens: readonly Token[]): void {
    const now = performance.now();
    this.#listener.onTokens(tokens.length, this.#lastAt === null ? null : now - this.#lastAt);
    this.#lastAt = now;
    const finish = tokens.at(-1)?.finish;
    if (finish) this.#listener.onFinish(finish);
  }
}
