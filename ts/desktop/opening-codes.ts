/**
 * Codes that open the app, once each and within a minute. A browser that the app starts is given one in place of the
 * token, because every account of the machine can read the command line that its address stands in.
 */
import { randomBytes } from 'node:crypto';

const VALID_MS = 60_000;

export class OpeningCodes {
  readonly #now: () => number;
  /** Until when each may be used. */
  readonly #validUntil = new Map<string, number>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  make(): string {
    this.#forgetOld();
    const code = randomBytes(24).toString('base64url');
    this.#validUntil.set(code, this.#now() + VALID_MS);
    return code;
  }

  /** Whether it is valid, which it is no more afterwards. */
  use(code: string): boolean {
    this.#forgetOld();
    return this.#validUntil.delete(code);
  }

  #forgetOld(): void {
    const now = this.#now();
    for (const [code, until] of this.#validUntil) if (until <= now) this.#validUntil.delete(code);
  }
}
