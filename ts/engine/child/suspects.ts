/**
 * Which requests a process was at work on when it ended: an engine computed them, or its preparation prepared them. One that
 * was there at two ends is refused, and those that are tried once more are tried one after another, so that one that ends
 * the process takes no other with it.
 */
import { createHash } from 'node:crypto';
import { ChasquiError } from '../../errors.js';

const MAX_REMEMBERED = 1024;
const REMEMBERED_MS = 60 * 60_000;
const MAX_ENDS = 2;

interface KnownEnds {
  count: number;
  /** When the last was, and how, in words. */
  at: number;
  how: string;
}

export class Suspects {
  readonly #what: string;
  readonly #now: () => number;
  /** By the digest of a request: the ends it was there at. The latest last. */
  readonly #ends = new Map<string, KnownEnds>();
  readonly #running = new Set<Suspect>();
  #gate: Promise<void> = Promise.resolve();

  /** `what` it is that ends; `now`: milliseconds that only grow. */
  constructor(what: string, now: () => number = () => performance.now()) {
    this.#what = what;
    this.#now = now;
  }

  /** What a request is told by; it is read only if an engine ends, or has. Throws `prompt_refused`. */
  begin(request: unknown): Suspect {
    const suspect = new Suspect(request, this.#running, this.#ends);
    if (this.#ends.size > 0) this.#refuse(suspect);
    return suspect;
  }

  /** The process ended through an error of its own, while it had all that have entered it. Equal requests are one. */
  ended(how: string): void {
    const at = this.#now();
    for (const digest of new Set(Array.from(this.#running, (suspect) => suspect.digest))) {
      const count = (this.#endsOf(digest)?.count ?? 0) + 1;
      this.#ends.delete(digest);
      this.#ends.set(digest, { count, at, how });
      const [oldest] = this.#ends.keys();
      if (this.#ends.size > MAX_REMEMBERED && oldest !== undefined) this.#ends.delete(oldest);
    }
  }

  /** Resolves when no other request is on trial; the trial is over when `suspect` has shown itself harmless, or has ended. */
  async trial(suspect: Suspect): Promise<void> {
    const before = this.#gate;
    this.#gate = before.then(() => suspect.harmless);
    await before;
  }

  /** Whether it was there at an end. */
  isKnown(suspect: Suspect): boolean {
    return this.#ends.size > 0 && this.#endsOf(suspect.digest) !== undefined;
  }

  #refuse(suspect: Suspect): void {
    const known = this.#endsOf(suspect.digest);
    if (known === undefined || known.count < MAX_ENDS) return;
    throw new ChasquiError(
      'prompt_refused',
      `${this.#what} ended ${known.count} times at work on this, the last time: ${known.how}. ` +
        'It is not tried again for an hour; change it, and report it.',
    );
  }

  #endsOf(digest: string): KnownEnds | undefined {
    const known = this.#ends.get(digest);
    return known && this.#now() - known.at < REMEMBERED_MS ? known : undefined;
  }
}

export class Suspect {
  /** When it has come so far that what it did at the last end would have happened by now. */
  readonly harmless: Promise<void>;
  #setHarmless: () => void = () => {};
  #digest: string | undefined;
  isOver = false;

  constructor(
    private readonly request: unknown,
    private readonly running: Set<Suspect>,
    private readonly ends: Map<string, unknown>,
  ) {
    this.harmless = new Promise((resolve) => {
      this.#setHarmless = resolve;
    });
  }

  get digest(): string {
    this.#digest ??= digestOf(this.request);
    return this.#digest;
  }

  /** The process gets it now. Whatever waits for a process has no part in how the last one ended. */
  entered(): void {
    if (!this.isOver) this.running.add(this);
  }

  passed(): void {
    this.#setHarmless();
  }

  /** It is over; `well`: the process did all of it. */
  end(well: boolean): void {
    this.isOver = true;
    this.running.delete(this);
    this.#setHarmless();
    if (well && this.ends.size > 0) this.ends.delete(this.digest);
  }
}

function digestOf(request: unknown): string {
  return sha256(JSON.stringify(withoutBytes(request)));
}

/** With digests in the place of bytes, which must not get into JSON: that has several characters for each. */
function withoutBytes(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return digestOfBytes(value as NodeJS.ArrayBufferView);
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(withoutBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutBytes(each)]));
}

/** The choices of a request share their images. */
const digestsOfBytes = new WeakMap<NodeJS.ArrayBufferView, string>();

function digestOfBytes(bytes: NodeJS.ArrayBufferView): string {
  const digest = digestsOfBytes.get(bytes) ?? sha256(bytes);
  digestsOfBytes.set(bytes, digest);
  return digest;
}

function sha256(data: string | NodeJS.ArrayBufferView): string {
  return createHash('sha256').update(data).digest('base64');
}
