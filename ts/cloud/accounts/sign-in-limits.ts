/**
 * Limits password attempts per network and per user. Networks where a user has signed in have their own allowance for that
 * user, which attempts from elsewhere cannot exhaust.
 */
import { TokenBucket } from '../gateway/token-bucket.js';

export interface TryLimit {
  burst: number;
  perMinute: number;
  maxEntries: number;
}

export class TryCounter {
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(
    private readonly limit: TryLimit,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.#buckets.size;
  }

  /** Counts an attempt and returns 0, or returns the seconds until the next one is allowed. */
  take(name: string): number {
    const { burst, perMinute } = this.limit;
    const now = this.clock();
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (!this.#hasSpace(now)) return 60;
      bucket = new TokenBucket(burst, perMinute, now);
      this.#buckets.set(name, bucket);
    }
    const waitMs = bucket.waitMs(1, now);
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    bucket.take(1, now);
    return 0;
  }

  /** Call after a successful attempt: the earlier ones were mistakes of the user. */
  forget(name: string): void {
    this.#buckets.delete(name);
  }

  /**
   * Drops full buckets. If none is full, new names are refused: dropping others would reset the limits for an attacker
   * with thousands of addresses.
   */
  #hasSpace(now: number): boolean {
    if (this.#buckets.size < this.limit.maxEntries) return true;
    for (const [name, bucket] of this.#buckets) if (bucket.isFull(now)) this.#buckets.delete(name);
    return this.#buckets.size < this.limit.maxEntries;
  }
}

const PER_ADDRESS: TryLimit = { burst: 10, perMinute: 2, maxEntries: 20_000 };
const PER_USER: TryLimit = { burst: 20, perMinute: 4, maxEntries: 20_000 };
/** Each network adds to the total number of attempts. */
const MAX_NETWORKS_PER_USER = 8;
const MAX_USERS = 1000;

export class SignInLimits {
  readonly #addresses: TryCounter;
  /** Attempts from unfamiliar networks, by user. */
  readonly #users: TryCounter;
  /** Unknown names are counted as well. Otherwise the limit would reveal which names exist. */
  readonly #unknownNames: TryCounter;
  /** Attempts from networks where the user has signed in, by network and user. */
  readonly #familiar: TryCounter;
  /** Networks of each user, the latest last. */
  readonly #networks = new Map<string, string[]>();

  constructor(clock?: () => number) {
    this.#addresses = new TryCounter(PER_ADDRESS, clock);
    this.#users = new TryCounter(PER_USER, clock);
    this.#unknownNames = new TryCounter(PER_USER, clock);
    this.#familiar = new TryCounter(PER_ADDRESS, clock);
  }

  /** Counts an attempt and returns 0, or returns the seconds until the next one is allowed. */
  take(address: string, name: string, isKnown: boolean): number {
    const [network, user] = [networkOf(address), userOf(name)];
    if (isKnown && this.#networks.get(user)?.includes(network)) return this.#familiar.take(`${network} ${user}`);
    const wait = this.#addresses.take(network);
    if (wait > 0) return wait;
    return (isKnown ? this.#users : this.#unknownNames).take(user);
  }

  /** Attempts for this user from other networks stay counted: they may be an attacker's. */
  succeeded(address: string, name: string): void {
    const [network, user] = [networkOf(address), userOf(name)];
    this.#addresses.forget(network);
    this.#familiar.forget(`${network} ${user}`);
    const others = (this.#networks.get(user) ?? []).filter((each) => each !== network);
    this.#networks.delete(user);
    this.#networks.set(user, [...others, network].slice(-MAX_NETWORKS_PER_USER));
    const [oldest = ''] = this.#networks.keys();
    if (this.#networks.size > MAX_USERS) this.#networks.delete(oldest);
  }
}

function userOf(name: string): string {
  return name.toLowerCase().slice(0, 100);
}

/** An IPv6 customer owns a /64 prefix, so its addresses count as one. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1] as string;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(Math.max(0, zeros)).fill('0'), ...last].slice(0, 4).join(':');
}
