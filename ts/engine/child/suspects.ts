/**
 * Remembers the requests that a process was running when it crashed. A request that was running at two crashes is refused.
 * Retries run one after another, so that a request that crashes the process takes no other with it.
 */
import { createHash } from 'node:crypto';
import { ChasquiError } from '../../errors.js';

const MAX_REMEMBERED = 1024;
const REMEMBERED_MS = 60 * 60_000;
const MAX_ENDS = 2;

interface KnownEnds {
  count: number;
  /** Time and cause of the last one. */
  at: number;
  how: string;
}

export class Suspects {
  readonly #what: string;
  readonly #now: () => number;
  /** Crashes at which a request was running, by its digest. The latest last. */
  readonly #ends = new Map<string, KnownEnds>();
  readonly #running = new Set<Suspect>();
  #gate: Promise<void> = Promise.resolve();

  /** `what` begins messages; `now` is a monotonic clock in milliseconds. */
  constructor(what: string, now: () => number = () => performance.now()) {
    this.#what = what;
    this.#now = now;
  }

  /** `request` identifies the request; its digest is computed only after a crash. Throws `prompt_refused`. */
  begin(request: unknown): Suspect {
    const suspect = new Suspect(request, this.#running, this.#ends);
    if (this.#ends.size > 0) this.#refuse(suspect);
    return suspect;
  }

  /** The process crashed: counts once for each distinct request that has entered it. */
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

  /** Resolves when no other request is on trial. The trial lasts until `suspect` is harmless or has ended. */
  async trial(suspect: Suspect): Promise<void> {
    const before = this.#gate;
    this.#gate = before.then(() => suspect.harmless);
    await before;
  }

  /** Whether it was running at a crash. */
  isKnown(suspect: Suspect): boolean {
    return this.#ends.size > 0 && this.#endsOf(suspect.digest) !== undefined;
  }

  #refuse(suspect: Suspect): void {
    const known = this.#endsOf(suspect.digest);
    if (known === undefined || known.count < MAX_ENDS) return;
    throw new ChasquiError(
      'prompt_refused',
      `${this.#what} ended ${known.count} times while it ran this request, the last time: ${known.how}. ` +
        'The request is refused for an hour. Change it, and report it.',
    );
  }

  #endsOf(digest: string): KnownEnds | undefined {
    const known = this.#ends.get(digest);
    return known && this.#now() - known.at < REMEMBERED_MS ? known : undefined;
  }
}

export class Suspect {
  /** Resolves when the request has progressed so far that it would have crashed the process by now. */
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

  /** The process gets the request now. Requests that still wait for a process cannot have crashed it. */
  entered(): void {
    if (!this.isOver) this.running.add(this);
  }

  passed(): void {
    this.#setHarmless();
  }

  /** `well`: the process completed the request. */
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

/** Replaces binary data by digests. */
function withoutBytes(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return digestOfBytes(value as NodeJS.ArrayBufferView);
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(withoutBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutBytes(each)]));
}

/** Choices of a request share their images. */
const digestsOfBytes = new WeakMap<NodeJS.ArrayBufferView, string>();

function digestOfBytes(bytes: NodeJS.ArrayBufferView): string {
  const digest = digestsOfBytes.get(bytes) ?? sha256(bytes);
  digestsOfBytes.set(bytes, digest);
  return digest;
}

function sha256(data: string | NodeJS.ArrayBufferView): string {
  return createHash('sha256').update(data).digest('base64');
}
