/** Work of many requests, of which only so much is done at a time. The requests that wait take turns. */
export class Turns {
  /** Nobody waits while there are any. */
  #free: number;
  /** What begins the work that waits, by its owner; whose turn is next comes first. */
  readonly #waiting = new Map<object, Set<() => void>>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Rejects as `work` does, and with the signal's reason while it waits: work that has begun ends by itself. */
  async run<T>(owner: object, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(owner, signal);
    try {
      return await work();
    } finally {
      this.#giveBack();
    }
  }

  #wait(owner: object, signal: AbortSignal | undefined): Promise<void> {
    const own = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, own);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        own.delete(begin);
        if (own.size === 0) this.#waiting.delete(owner);
        reject(signal?.reason);
      };
      own.add(begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** The place goes to the first that waits, whose next work waits behind that of all others. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [owner, own] = next;
    const begin = own.values().next().value as () => void;
    this.#waiting.delete(owner);
    own.delete(begin);
    if (own.size > 0) this.#waiting.set(owner, own);
    begin();
  }
}
