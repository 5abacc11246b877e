/**
 * A token bucket that starts full and refills continuously. It may be overdrawn by its capacity, because tokens of a request
 * are counted afterwards. `now` is a monotonic clock in milliseconds.
 */
export class TokenBucket {
  #tokens: number;
  #at: number;

  constructor(
    readonly capacity: number,
    private readonly perMinute: number,
    now: number,
  ) {
    this.#tokens = capacity;
    this.#at = now;
  }

  tokens(now: number): number {
    this.#tokens = Math.min(this.capacity, this.#tokens + ((now - this.#at) * this.perMinute) / 60_000);
    this.#at = now;
    return this.#tokens;
  }

  take(amount: number, now: number): void {
    this.#tokens = Math.max(-this.capacity, this.tokens(now) - amount);
  }

  /** Milliseconds until the bucket has `amount` tokens. */
  waitMs(amount: number, now: number): number {
    return Math.max(0, ((amount - this.tokens(now)) * 60_000) / this.perMinute);
  }

  isFull(now: number): boolean {
    return this.tokens(now) >= this.capacity;
  }
}
