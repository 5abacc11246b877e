/** Holds each key to its limits: requests and tokens a minute, and requests at once. */
import { ChasquiError } from '../../errors.js';
import type { CloudKey } from './access.js';

const MINUTE_MS = 60_000;

/** So many keys are remembered before those are forgotten that have nothing to remember. */
const MAX_IDLE_KEYS = 10_000;

/** A request that was let in. */
export interface Admission {
  /** What OpenAI's clients read from a reply: limits, what remains, and when all of it is there again. */
  headers: Readonly<Record<string, string>>;
  /** To be called once, when the request is over, with the tokens that it used. */
  end(tokens: number): void;
}

/** An allowance that fills up again within a minute. It may be overdrawn, because tokens are counted afterwards. */
class Allowance {
  #left: number;
  #at: number;

  constructor(
    readonly limit: number,
    now: number,
  ) {
    this.#left = limit;
    this.#at = now;
  }

  left(now: number): number {
    this.#left = Math.min(this.limit, this.#left + ((now - this.#at) * this.limit) / MINUTE_MS);
    this.#at = now;
    return this.#left;
  }

  take(amount: number, now: number): void {
    this.#left = this.left(now) - amount;
  }

  /** Milliseconds until there is `amount`. */
  until(amount: number, now: number): number {
    return Math.max(0, ((amount - this.left(now)) * MINUTE_MS) / this.limit);
  }

  isFull(now: number): boolean {
    return this.left(now) >= this.limit;
  }
}

interface Account {
  requests: Allowance | null;
  tokens: Allowance | null;
  running: number;
}

export class KeyLimits {
  readonly #accounts = new Map<string, Account>();
  readonly #now: () => number;

  /** `now` is a monotonic clock in milliseconds: the other one may be set. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws {ChasquiError} `rate_limit_exceeded`, with the seconds after which trying again helps. */
  admit(key: CloudKey): Admission {
    const now = this.#now();
    const account = this.#account(key, now);
    const { concurrency } = key.limits;
    if (concurrency !== null && account.running >= concurrency) {
      throw refusal(`${concurrency} requests at once`, 1000);
    }
    const { requests, tokens } = account;
    if (requests !== null && requests.left(now) < 1) {
      throw refusal(`${requests.limit} requests a minute`, requests.until(1, now));
    }
    if (tokens !== null && tokens.left(now) <= 0) {
      throw refusal(`${tokens.limit} tokens a minute`, tokens.until(1, now));
    }
    requests?.take(1, now);
    account.running += 1;
    return {
      headers: { ...describe('requests', requests, now), ...describe('tokens', tokens, now) },
      end: (used) => {
        account.running -= 1;
        account.tokens?.take(used, this.#now());
      },
    };
  }

  #account({ id, limits }: CloudKey, now: number): Account {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      if (this.#accounts.size >= MAX_IDLE_KEYS) this.#forgetIdle(now);
      account = { requests: null, tokens: null, running: 0 };
      this.#accounts.set(id, account);
    }
    account.requests = renewed(account.requests, limits.requestsPerMinute, now);
    account.tokens = renewed(account.tokens, limits.tokensPerMinute, now);
    return account;
  }

  #forgetIdle(now: number): void {
    for (const [id, { running, requests, tokens }] of this.#accounts) {
      if (running === 0 && (requests?.isFull(now) ?? true) && (tokens?.isFull(now) ?? true)) this.#accounts.delete(id);
    }
  }
}

/** A limit that was changed counts from now on. */
function renewed(allowance: Allowance | null, limit: number | null, now: number): Allowance | null {
  if (limit === null || limit <= 0) return null;
  return allowance?.limit === limit ? allowance : new Allowance(limit, now);
}

function describe(what: string, allowance: Allowance | null, now: number): Record<string, string> {
  if (allowance === null) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(allowance.limit),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(allowance.left(now)))),
    [`x-ratelimit-reset-${what}`]: `${(allowance.until(allowance.limit, now) / 1000).toFixed(3)}s`,
  };
}

function refusal(limit: string, waitMs: number): ChasquiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const error = new ChasquiError(
    'rate_limit_exceeded',
    `The API key is limited to ${limit}. Try again in ${seconds} s.`,
  );
  error.retryAfterSeconds = seconds;
  return error;
}
