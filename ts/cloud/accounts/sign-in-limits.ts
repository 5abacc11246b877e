/**
 * How often a password may be tried: so often per address, and so often per person. Where a person signed in lately, that
 * person has tries apart from those, which nobody elsewhere can use up.
 */

interface Bucket {
  /** How many tries are left. */
  left: number;
  /** When that was so, in milliseconds of a clock that nobody sets. */
  at: number;
}

export interface TryLimit {
  /** How many tries there are at first. */
  burst: number;
  /** How many come back. */
  perMinute: number;
  /** Of how many addresses or people it keeps count. */
  maxEntries: number;
}

/** Counts tries per text. Each has `burst` of them at first, and gets `perMinute` more. */
export class TryCounter {
  readonly #limit: TryLimit;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: TryLimit, clock: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#clock = clock;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Counts a try and returns 0, or returns after how many seconds the next one is allowed. */
  take(text: string): number {
    const { burst, perMinute } = this.#limit;
    const now = this.#clock();
    const known = this.#buckets.get(text);
    if (!known && !this.#hasRoom(now)) return 60;
    const left = known ? this.#leftAt(known, now) : burst;
    if (left < 1) return Math.ceil(((1 - left) / perMinute) * 60);
    this.#buckets.set(text, { left: left - 1, at: now });
    return 0;
  }

  /** The try was right, so those before it were a person's own mistakes. */
  forget(text: string): void {
    this.#buckets.delete(text);
  }

  #leftAt({ left, at }: Bucket, now: number): number {
    return Math.min(this.#limit.burst, left + ((now - at) / 60_000) * this.#limit.perMinute);
  }

  /**
   * Forgets those that have all their tries again. Where that makes no room, new ones are refused: to drop others would
   * give whoever comes from thousands of addresses all tries anew.
   */
  #hasRoom(now: number): boolean {
    if (this.#buckets.size < this.#limit.maxEntries) return true;
    for (const [text, bucket] of this.#buckets) {
      if (this.#leftAt(bucket, now) >= this.#limit.burst) this.#buckets.delete(text);
    }
    return this.#buckets.size < this.#limit.maxEntries;
  }
}

const PER_ADDRESS: TryLimit = { burst: 10, perMinute: 2, maxEntries: 20_000 };
const PER_PERSON: TryLimit = { burst: 20, perMinute: 4, maxEntries: 20_000 };
/** Few, because each adds to how often the password may be tried in all. */
const MAX_NETWORKS_PER_PERSON = 8;
const MAX_PEOPLE = 1000;

export class SignInLimits {
  readonly #addresses: TryCounter;
  /** Of tries from where the person has not signed in lately. */
  readonly #people: TryCounter;
  /** Names that are nobody's are counted too, or the limit would tell which are somebody's. */
  readonly #strangers: TryCounter;
  /** Of tries from where the person has signed in lately, for each network. */
  readonly #familiar: TryCounter;
  /** Where each person has signed in, the latest last. */
  readonly #networks = new Map<string, string[]>();

  constructor(clock?: () => number) {
    this.#addresses = new TryCounter(PER_ADDRESS, clock);
    this.#people = new TryCounter(PER_PERSON, clock);
    this.#strangers = new TryCounter(PER_PERSON, clock);
    this.#familiar = new TryCounter(PER_ADDRESS, clock);
  }

  /** Counts a try and returns 0, or returns after how many seconds the next one is allowed. */
  take(address: string, name: string, isKnown: boolean): number {
    const [network, person] = [networkOf(address), personOf(name)];
    if (isKnown && this.#networks.get(person)?.includes(network)) return this.#familiar.take(`${network} ${person}`);
    const wait = this.#addresses.take(network);
    if (wait > 0) return wait;
    return (isKnown ? this.#people : this.#strangers).take(person);
  }

  /** Tries for this person from elsewhere stay counted: they may have been somebody else's. */
  succeeded(address: string, name: string): void {
    const [network, person] = [networkOf(address), personOf(name)];
    this.#addresses.forget(network);
    this.#familiar.forget(`${network} ${person}`);
    const others = (this.#networks.get(person) ?? []).filter((each) => each !== network);
    this.#networks.delete(person);
    this.#networks.set(person, [...others, network].slice(-MAX_NETWORKS_PER_PERSON));
    const [oldest = ''] = this.#networks.keys();
    if (this.#networks.size > MAX_PEOPLE) this.#networks.delete(oldest);
  }
}

function personOf(name: string): string {
  return name.toLowerCase().slice(0, 100);
}

/** One customer of a provider has all the IPv6 addresses that begin with the same 64 bits. */
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
