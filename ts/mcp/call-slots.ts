/** Limits how many calls run at the same time and how many wait for that. */

export class CallSlots {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly maxRunning: number,
    private readonly maxWaiting: number,
  ) {}

  /** Resolves with the function that frees the slot. Rejects with the reason of `signal`, or if too many wait. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.maxRunning) this.#running += 1;
    else await this.#wait(signal);
    return () => this.#free();
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.maxWaiting) {
      return Promise.reject(new Error(`${this.maxRunning + this.maxWaiting} calls run or wait already.`));
    }
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(next);
        reject(signal.reason);
      };
      const next = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      this.#waiting.add(next);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** The slot passes to the first that waits. */
  #free(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
