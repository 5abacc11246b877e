/**
 * Which requests were there when an engine ended. One that was there twice is not computed again, and those that are tried
 * once more are tried one after another, so that one that ends the engine takes no other with it.
 */
import { createHash } from 'node:crypto';
import { ChasquiError } from '../../errors.js';

const MAX_REMEMBERED = 1024;
const REMEMBERED_MS = 60 * 60_000;
const MAX_ENDS = 2;

export class Suspects {
  /** By the digest of a request: how many ends it was there at, and when the last was. The latest last. */
  readonly #ends = new Map<string, { count: number; at: number }>();
  readonly #running = new Set<Suspect>();
  #gate: Promise<void> = Promise.resolve();

  /** What a request is told by; it is read only if an engine ends, or has. Throws `prompt_refused`. */
  begin(request: unknown): Suspect {
    const suspect = new Suspect(request, this.#running, this.#ends);
    const known = this.#ends.size === 0 ? undefined : this.#ends.get(suspect.digest);
    if (known && known.count >= MAX_ENDS && performance.now() - known.at < REMEMBERED_MS) throw refused();
    this.#running.add(suspect);
    return suspect;
  }

  /** An engine ended through an error of its own, while all of these were there. */
  engineEnded(): void {
    const at = performance.now();
    for (const { digest } of this.#running) {
      const count = (this.#ends.get(digest)?.count ?? 0) + 1;
      this.#ends.delete(digest);
      this.#ends.set(digest, { count, at });
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
}

export class Suspect {
  /** When it has come so far that what it did at the last end would have happened by now. */
  readonly harmless: Promise<void>;
  #setHarmless: () => void = () => {};
  #digest: string | undefined;

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

  passed(): void {
    this.#setHarmless();
  }

  /** It is over; `well`: the engine computed all of it. */
  end(well: boolean): void {
    this.running.delete(this);
    this.#setHarmless();
    if (well && this.ends.size > 0) this.ends.delete(this.digest);
  }
}

function digestOf(request: unknown): string {
  const text = JSON.stringify(request, (_key, value: unknown) =>
    value instanceof Uint8Array ? createHash('sha256').update(value).digest('base64') : value,
  );
  return createHash('sha256').update(text).digest('base64');
}

function refused(): ChasquiError {
  return new ChasquiError(
    'prompt_refused',
    `The engine ended ${MAX_ENDS} times while it computed this. It is not tried again for an hour; change it, and report it.`,
  );
}
