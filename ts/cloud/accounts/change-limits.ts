/** Limits the changes of an organisation. A change is stored and audited, and may start a runner. */
import { ChasquiError } from '../../errors.js';
import type { Actor } from './audit.js';
import { TryCounter } from './sign-in-limits.js';

const PER_ORG = { burst: 300, perMinute: 60, maxEntries: 10_000 };

export class ChangeLimits {
  readonly #orgs: TryCounter;

  constructor(clock?: () => number) {
    this.#orgs = new TryCounter(PER_ORG, clock);
  }

  /** Counts a change. Unrestricted actors have no limit. @throws {ChasquiError} `rate_limit_exceeded` */
  take({ org }: Pick<Actor, 'org'>): void {
    const seconds = org === null ? 0 : this.#orgs.take(org);
    if (seconds === 0) return;
    const message = `Organisation ${org} is limited to ${PER_ORG.perMinute} changes per minute. Try again in ${seconds} s.`;
    const refusal = new ChasquiError('rate_limit_exceeded', message);
    refusal.retryAfterSeconds = seconds;
    throw refusal;
  }
}
