/** Fetches that are under way: those who want the same file at the same time share one, and what nobody wants is ended. */
import { ChasquiError } from '../../errors.js';
import type { TellFetched } from './hub-weights.js';

interface Fetch {
  promise: Promise<string>;
  watchers: Set<TellFetched>;
  /** Null: it goes on to its end. */
  ending: Ending | null;
}

interface Ending {
  stop: AbortController;
  isWanted(): boolean;
}

/** Returns the path of the file. */
export type Begin = (tell: TellFetched, signal: AbortSignal) => Promise<string>;

const LOOK_MS = 1000;

export class SharedFetches {
  readonly #running = new Map<string, Fetch>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** With `isWanted`, the signal of `begin` is aborted as soon as that says no, and by `close`. */
  once(key: string, watch: TellFetched, begin: Begin, isWanted?: () => boolean): Promise<string> {
    // Its revision is fetched by the next control plane.
    if (this.#closed) return never();
    const fetch = this.#running.get(key) ?? this.#begin(key, begin, isWanted);
    fetch.watchers.add(watch);
    return fetch.promise.catch((error: unknown) => (this.#closed ? never() : Promise.reject(error)));
  }

  /** Ends what can be ended. Nobody hears of it, so that no revision fails: the next control plane goes on with it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const ended = [...this.#running.values()].flatMap(({ promise, ending }) => {
      ending?.stop.abort(new Error('the cloud was stopped'));
      return ending === null ? [] : [promise];
    });
    await Promise.allSettled(ended);
  }

  #begin(key: string, begin: Begin, isWanted: (() => boolean) | undefined): Fetch {
    const watchers = new Set<TellFetched>();
    const stop = new AbortController();
    const promise = begin((fraction, bytes) => {
      for (const watcher of watchers) watcher(fraction, bytes);
    }, stop.signal);
    const fetch: Fetch = { promise, watchers, ending: isWanted === undefined ? null : { stop, isWanted } };
    const forget = (): void => this.#forget(key, fetch);
    promise.then(forget, forget);
    this.#running.set(key, fetch);
    this.#timer ??= setInterval(() => this.#endUnwanted(), LOOK_MS).unref();
    return fetch;
  }

  #endUnwanted(): void {
    for (const [key, fetch] of this.#running) {
      if (fetch.ending === null || mayBeWanted(fetch.ending)) continue;
      // Who wants it from now on begins it anew.
      this.#forget(key, fetch);
      fetch.ending.stop.abort(new ChasquiError('model_fetch_failed', 'Nobody waits for the model any more.'));
    }
  }

  #forget(key: string, fetch: Fetch): void {
    if (this.#running.get(key) === fetch) this.#running.delete(key);
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Where it cannot be known, the next look tells. */
function mayBeWanted({ isWanted }: Ending): boolean {
  try {
    return isWanted();
  } catch {
    return true;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
