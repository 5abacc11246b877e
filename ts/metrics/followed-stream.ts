import type { Finish, Prefill, Token, TokenStream } from '../engine/engine.js';

export interface Batch {
  tokens: number;
  /** Milliseconds since the batch before it; `null` for the first. */
  waitedMs: number | null;
  /** Set in the last batch of a completion. */
  finish: Finish | undefined;
}

/** A stream that reports to a listener what its reader gets. */
export class FollowedStream implements TokenStream {
  readonly #stream: TokenStream;
  readonly #onBatch: (batch: Batch) => void;
  #lastAt: number | null = null;

  constructor(stream: TokenStream, onBatch: (batch: Batch) => void) {
    this.#stream = stream;
    this.#onBatch = onBatch;
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

  get prefill(): Prefill | null {
    return this.#stream.prefill ?? null;
  }

  return(): Promise<IteratorResult<Token>> {
    return this.#stream.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #report(tokens: readonly Token[]): void {
    if (tokens.length === 0) return;
    const now = performance.now();
    const waitedMs = this.#lastAt === null ? null : now - this.#lastAt;
    this.#lastAt = now;
    this.#onBatch({ tokens: tokens.length, waitedMs, finish: tokens.at(-1)?.finish });
  }
}
