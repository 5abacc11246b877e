/** Limits concurrent work. Owners that wait take turns. */
export class Turns {
  /** Free places; while there are any, no work waits. */
  #free: number;
  /** Starters of waiting work by owner; the next owner first. */
  readonly #waiting = new Map<object, Set<() => void>>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Rejects as `work` does, or with the signal's reason while it waits. Running work is not interrupted. */
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

  /** Gives the place to the first owner, and moves that owner to the end. */
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
