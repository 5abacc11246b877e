/**
 * Single-use codes that open the app, valid for a minute. They replace the token in URLs, so that a browser's history
 * contains no valid credential.
 */
import { randomBytes } from 'node:crypto';

const VALID_MS = 60_000;

export class OpeningCodes {
  readonly #onSpent: (code: string) => void;
  readonly #now: () => number;
  /** Expiry times. */
  readonly #validUntil = new Map<string, number>();

  /** `onSpent` is called for each used or expired code. */
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

  /** Whether the code is valid; invalidates it. */
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
