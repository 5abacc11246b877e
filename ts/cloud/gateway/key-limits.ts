/** Enforces the limits of keys: requests and tokens per minute, and concurrent requests. */
import { ChasquiError } from '../../errors.js';
import type { CloudKey } from './access.js';
import { TokenBucket } from './token-bucket.js';

/** Beyond this many accounts, those with full buckets are dropped. */
const MAX_ACCOUNTS = 10_000;

export interface Admission {
  /** The `x-ratelimit-*` headers that OpenAI clients read. */
  headers: Readonly<Record<string, string>>;
  /**
   * Takes the expected tokens before the request is computed. `tokens` is called only if the key has a limit.
   *
   * @throws {ChasquiError} `rate_limit_exceeded`
   */
  reserve(tokens: () => number): void;
  /** Call once at the end of the request, with the tokens it used. */
  end(tokens: number): void;
}

interface Account {
  requests: TokenBucket | null;
  tokens: TokenBucket | null;
  running: number;
}

export class KeyLimits {
  readonly #accounts = new Map<string, Account>();

  /** `now`: a monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @throws {ChasquiError} `rate_limit_exceeded`, with `retryAfterSeconds` */
  admit(key: CloudKey): Admission {
    const now = this.now();
    const account = this.#account(key, now);
    const { concurrency } = key.limits;
    if (concurrency !== null && account.running >= concurrency) {
      throw refusal(`${concurrency} concurrent requests`, 1000);
    }
    const { requests, tokens } = account;
    if (requests !== null && requests.tokens(now) < 1) {
      throw refusal(`${requests.capacity} requests per minute`, requests.waitMs(1, now));
    }
    if (tokens !== null) refuseEmpty(tokens, now);
    requests?.take(1, now);
    account.running += 1;
    let reserved = 0;
    return {
      headers: { ...describe('requests', requests, now), ...describe('tokens', tokens, now) },
      reserve: (estimate) => {
        const at = this.now();
        if (account.tokens === null) return;
        refuseEmpty(account.tokens, at);
        reserved = Math.min(estimate(), account.tokens.capacity);
        account.tokens.take(reserved, at);
      },
      end: (used) => {
        account.running -= 1;
        account.tokens?.take(used - reserved, this.now());
      },
    };
  }

  #account({ id, limits }: CloudKey, now: number): Account {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      if (this.#accounts.size >= MAX_ACCOUNTS) this.#dropIdle(now);
      account = { requests: null, tokens: null, running: 0 };
      this.#accounts.set(id, account);
    }
    account.requests = renewed(account.requests, limits.requestsPerMinute, now);
    account.tokens = renewed(account.tokens, limits.tokensPerMinute, now);
    return account;
  }

  #dropIdle(now: number): void {
    for (const [id, { running, requests, tokens }] of this.#accounts) {
      if (running === 0 && (requests?.isFull(now) ?? true) && (tokens?.isFull(now) ?? true)) this.#accounts.delete(id);
    }
  }
}

function refuseEmpty(tokens: TokenBucket, now: number): void {
  // The bucket refills continuously, so an empty one has a fraction of a token a moment later.
  if (tokens.tokens(now) >= 1) return;
  throw refusal(`${tokens.capacity} tokens per minute`, tokens.waitMs(1, now));
}

/** A changed limit starts with a full bucket. */
function renewed(bucket: TokenBucket | null, limit: number | null, now: number): TokenBucket | null {
  if (limit === null || limit <= 0) return null;
  return bucket?.capacity === limit ? bucket : new TokenBucket(limit, limit, now);
}

function describe(what: string, bucket: TokenBucket | null, now: number): Record<string, string> {
  if (bucket === null) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(bucket.capacity),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(bucket.tokens(now)))),
    [`x-ratelimit-reset-${what}`]: `${(bucket.waitMs(bucket.capacity, now) / 1000).toFixed(3)}s`,
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
