/**
 * Remembers the requests that a process was running when it crashed. A request that was running at two crashes is refused.
 * Retries run one after another, so that a request that crashes the process takes no other with it.
 */
import { createHash } from 'node:crypto';
import { ChasquiError } from '../../errors.js';

const MAX_REMEMBERED = 1024;
const REMEMBERED_MS = 60 * 60_000;
const MAX_ENDS = 2;
/** Of one request. */
const MAX_STARTS = 2;

interface KnownEnds {
  count: number;
  /** Time and cause of the last one. */
  at: number;
  how: string;
}

export class Suspects<P = unknown> {
  /** Crashes at which a request was running, by its digest. The latest last. */
  readonly #ends = new Map<string, KnownEnds>();
  /** Requests that the process has been given. */
  readonly running = new Set<Attempt<P>>();
  #gate: Promise<void> = Promise.resolve();

  /** `what` begins messages; `now` is a monotonic clock in milliseconds. */
  constructor(
    private readonly what: string,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Throws `prompt_refused` for a request that was running at two crashes. */
  refuse(suspect: Attempt<P>): void {
    const known = this.#ends.size > 0 ? this.#endsOf(suspect.digest) : undefined;
    if (known === undefined || known.count < MAX_ENDS) return;
    throw new ChasquiError(
      'prompt_refused',
      `${this.what} ended ${known.count} times while it ran this request, the last time: ${known.how}. ` +
        'The request is refused for an hour. Change it, and report it.',
    );
  }

  /** The process crashed: counts once for each distinct request that it has been given. */
  ended(how: string): void {
    const at = this.now();
    for (const digest of new Set(Array.from(this.running, (suspect) => suspect.digest))) {
      const count = (this.#endsOf(digest)?.count ?? 0) + 1;
      this.#ends.delete(digest);
      this.#ends.set(digest, { count, at, how });
      const [oldest] = this.#ends.keys();
      if (this.#ends.size > MAX_REMEMBERED && oldest !== undefined) this.#ends.delete(oldest);
    }
  }

  /** Resolves when no other request is on trial. The trial lasts until `suspect` is harmless. */
  async trial({ harmless }: Attempt<P>): Promise<void> {
    const before = this.#gate;
    this.#gate = before.then(() => harmless);
    await before;
  }

  /** Whether it was running at a crash. */
  isKnown(suspect: Attempt<P>): boolean {
    return this.#ends.size > 0 && this.#endsOf(suspect.digest) !== undefined;
  }

  /** The process completed the request. */
  acquit(suspect: Attempt<P>): void {
    if (this.#ends.size > 0) this.#ends.delete(suspect.digest);
  }

  #endsOf(digest: string): KnownEnds | undefined {
    const known = this.#ends.get(digest);
    return known && this.now() - known.at < REMEMBERED_MS ? known : undefined;
  }
}

/** One request, and the processes that it is given to: at most two. */
export class Attempt<P> {
  /** Resolves when the request has progressed so far that it would have crashed the process by now, or when it has ended. */
  harmless: Promise<void> = Promise.resolve();
  /** The request has ended, or has not started. */
  isOver = true;
  #digest: string | undefined;
  #starts = 0;
  #signsOfLife = 0;
  /** Resolves `harmless`. */
  setHarmless: () => void = () => {};

  /** `enter` waits for a process. */
  constructor(
    private readonly request: unknown,
    private readonly suspects: Suspects<P>,
    private readonly enter: (attempt: Attempt<P>, isRetry: boolean) => Promise<P>,
    private readonly refusesAtOnce: boolean,
  ) {}

  /** Equal requests have the same. Computed only after a crash. */
  get digest(): string {
    this.#digest ??= sha256(JSON.stringify(withoutBytes(this.request)));
    return this.#digest;
  }

  /**
   * Waits for a process to give the request to. `failure`: the last start failed with it; it is thrown again unless another
   * start may help. Throws `prompt_refused`.
   */
  async start(failure?: unknown): Promise<P> {
    if (this.#starts > 0) this.end(false);
    if (failure !== undefined && !isRestart(failure)) throw failure;
    if (this.#starts === MAX_STARTS) {
      if (this.refusesAtOnce) this.suspects.refuse(this);
      throw failure;
    }
    this.suspects.refuse(this);
    this.#starts += 1;
    this.#signsOfLife = 0;
    this.isOver = false;
    this.harmless = new Promise((resolve) => {
      this.setHarmless = resolve;
    });
    return this.enter(this, this.#starts > 1);
  }

  /** The process lives. The first sign of life may be older than the request. */
  signOfLife(): void {
    this.#signsOfLife += 1;
    if (this.#signsOfLife === 2) this.setHarmless();
  }

  /** `complete`: the process did all of it. */
  end(complete: boolean): void {
    this.isOver = true;
    this.suspects.running.delete(this);
    this.setHarmless();
    if (complete) this.suspects.acquit(this);
  }
}

export function isRestart(error: unknown): boolean {
  return error instanceof ChasquiError && error.code === 'engine_restarting';
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
