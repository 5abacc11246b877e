/** Running fetches. Callers that need the same file share one; a fetch that no revision needs is aborted. */
import { ChasquiError } from '../../errors.js';
import type { OnFetchProgress } from './hub-weights.js';

interface Fetch {
  promise: Promise<string>;
  watchers: Set<OnFetchProgress>;
  /** Null: cannot be aborted. */
  ending: Ending | null;
}

interface Ending {
  stop: AbortController;
  isWanted(): boolean;
}

/** Resolves with the path of the file. */
export type Begin = (tell: OnFetchProgress, signal: AbortSignal) => Promise<string>;

const POLL_MS = 1000;

export class SharedFetches {
  readonly #running = new Map<string, Fetch>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** With `isWanted`, the signal of `begin` aborts when that returns false, and on `close`. */
  once(key: string, watch: OnFetchProgress, begin: Begin, isWanted?: () => boolean): Promise<string> {
    // The next control plane fetches it.
    if (this.#closed) return never();
    const fetch = this.#running.get(key) ?? this.#begin(key, begin, isWanted);
    fetch.watchers.add(watch);
    return fetch.promise.catch((error: unknown) => (this.#closed ? never() : Promise.reject(error)));
  }

  /** Aborts what can be aborted. Callers stay pending, so no revision fails and the next control plane resumes. */
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
    const watchers = new Set<OnFetchProgress>();
    const stop = new AbortController();
    const promise = begin((fraction, bytes) => {
      for (const watcher of watchers) watcher(fraction, bytes);
    }, stop.signal);
    const fetch: Fetch = { promise, watchers, ending: isWanted === undefined ? null : { stop, isWanted } };
    const forget = (): void => this.#forget(key, fetch);
    promise.then(forget, forget);
    this.#running.set(key, fetch);
    this.#timer ??= setInterval(() => this.#endUnwanted(), POLL_MS).unref();
    return fetch;
  }

  #endUnwanted(): void {
    for (const [key, fetch] of this.#running) {
      if (fetch.ending === null || mayBeWanted(fetch.ending)) continue;
      // Later callers start a new fetch.
      this.#forget(key, fetch);
      fetch.ending.stop.abort(new ChasquiError('model_fetch_failed', 'No revision needs the model any more.'));
    }
  }

  #forget(key: string, fetch: Fetch): void {
    if (this.#running.get(key) === fetch) this.#running.delete(key);
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** On an error the next poll decides. */
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
