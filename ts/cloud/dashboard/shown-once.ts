/** Holds a new key between its creation and the page that shows it once. */

interface Waiting {
  sessionId: string;
  key: string;
  /** Milliseconds of a monotonic clock. */
  until: number;
}

const KEPT_MS = 60_000;
const MAX_WAITING = 100;

export class ShownOnce {
  readonly #waiting = new Map<string, Waiting>();

  constructor(private readonly clock: () => number = () => performance.now()) {}

  put(sessionId: string, keyId: string, key: string): void {
    this.#forgetOld();
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(keyId, { sessionId, key, until: this.clock() + KEPT_MS });
  }

  /** Only for the session that created the key. */
  take(sessionId: string, keyId: string): string | null {
    this.#forgetOld();
    const waiting = this.#waiting.get(keyId);
    if (waiting?.sessionId !== sessionId) return null;
    this.#waiting.delete(keyId);
    return waiting.key;
  }

  #forgetOld(): void {
    for (const [id, { until }] of this.#waiting) if (this.clock() >= until) this.#waiting.delete(id);
  }
}
