/**
 * Codes that open the app, once each and within a minute. A browser that the app starts is given one in place of the
 * token, so that nothing it keeps of the address opens the app again.
 */
import { randomBytes } from 'node:crypto';

const VALID_MS = 60_000;

export class OpeningCodes {
  readonly #onSpent: (code: string) => void;
  readonly #now: () => number;
  /** Until when each may be used. */
  readonly #validUntil = new Map<string, number>();

  /** `onSpent` is told of each code that was used or is too old. */
  constructor(onSpent: (code: string) => void, now: () => number = () => performance.now()) {
    this.#onSpent = onSpent;
    this.#now = now;
  }

  make(): string {
    this.#forgetOld();
    const code = randomBytes(24).toString('base64url');
    this.#validUntil.set(code, this.#now() + VALID_MS);
    setTimeout(() => this.#forget(code), VALID_MS).unref();
    return code;
  }

  /** Whether it is valid, which it is no more afterwards. */
  use(code: string): boolean {
    this.#forgetOld();
    return this.#forget(code);
  }

  #forget(code: string): boolean {
    const isKnown = this.#validUntil.delete(code);
    if (isKnown) this.#onSpent(code);
    return isKnown;
  }

  #forgetOld(): void {
    const now = this.#now();
    for (const [code, until] of this.#validUntil) if (until <= now) this.#forget(code);
  }
}
