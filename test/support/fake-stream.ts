/** A scripted token stream with the engine's manners: iterated once, freed by return, by the signal and by the end. */
import type { Prefill, Token, TokenLogprobs, TokenStream } from '../../ts/engine/engine.js';
import type { JobControl } from '../../ts/engine/engine-types.js';

export interface StreamScript {
  batches: Token[][];
  failAt: number | undefined;
  failWith: unknown;
  manual: boolean;
  signal: AbortSignal | undefined;
  onBatch(): void;
  onEnd(cancelled: boolean): void;
}

export class FakeStream implements TokenStream {
  /** For tests to set. */
  prefill: Prefill | null = null;
  promptLogprobs: readonly TokenLogprobs[] = [];
  readonly controls: JobControl[] = [];
  readonly #script: StreamScript;
  #next = 0;
  #permits = 0;
  #ended = false;
  #failure: { reason: unknown } | null = null;
  #wake: (() => void) | null = null;
  readonly #observers: ((tokens: readonly Token[]) => void)[] = [];

  constructor(script: StreamScript) {
    this.#script = script;
    const { signal } = script;
    if (signal?.aborted) this.fail(signal.reason);
    signal?.addEventListener('abort', () => this.fail(signal.reason), { once: true });
  }

  observe(listener: (tokens: readonly Token[]) => void): void {
    this.#observers.push(listener);
  }

  control(action: JobControl): void {
    this.controls.push(action);
  }

  step(): void {
    this.#permits += 1;
    this.#wake?.();
  }

  fail(reason: unknown): void {
    if (this.#ended) return;
    this.#failure ??= { reason };
    this.#end(true);
    this.#wake?.();
  }

  async forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void> {
    for await (const batch of this.#batches()) await take(batch);
  }

  async *#batches(): AsyncIterableIterator<Token[]> {
    try {
      for (;;) {
        const batch = await this.#nextBatch();
        if (!batch) return;
        yield batch;
      }
    } finally {
      this.#end(true);
    }
  }

  async *#tokens(): AsyncIterableIterator<Token> {
    for await (const batch of this.#batches()) yield* batch;
  }

  readonly #iterator = this.#tokens();

  next(): Promise<IteratorResult<Token>> {
    return this.#iterator.next();
  }

  async return(): Promise<IteratorResult<Token>> {
    this.#end(true);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #nextBatch(): Promise<Token[] | undefined> {
    await this.#permit();
    if (this.#failure) throw this.#failure.reason;
    if (this.#next === this.#script.failAt) {
      this.#end(false);
      throw this.#script.failWith;
    }
    const batch = this.#script.batches[this.#next++];
    if (batch) this.#script.onBatch();
    if (!batch || batch.some((token) => token.finish)) this.#end(false);
    if (batch?.length) for (const observe of this.#observers) observe(batch);
    return batch;
  }

  /** Later than the caller's own next step, as a real wake is. */
  async #permit(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#script.manual || this.#ended) return;
    while (this.#permits === 0 && !this.#failure) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#permits -= 1;
  }

  #end(cancelled: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#script.onEnd(cancelled);
  }
}
