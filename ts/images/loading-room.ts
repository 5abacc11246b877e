/** Limits what all requests that load images take together: connections, memory, and places to wait in. */
import { ChasquiError } from '../errors.js';
import { MAX_BYTES_LOADING, MAX_DOWNLOADS_TOGETHER, MAX_REQUESTS_LOADING } from './limits.js';
import { Turns } from './turns.js';

export interface RoomLimits {
  /** At the same time. */
  downloads: number;
  /** That download, convert, or wait for that. */
  requests: number;
  /** Of downloaded files, as long as their requests load images. */
  bytes: number;
}

/** The images of one request, while they are loaded. */
export class Loading {
  /** Aborted when they are no longer needed. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  /** What it holds of downloaded files. */
  bytes = 0;

  constructor(outer: AbortSignal | undefined) {
    this.signal = outer ? AbortSignal.any([outer, this.#end.signal]) : this.#end.signal;
  }

  end(reason: unknown): void {
    this.#end.abort(reason);
  }
}

export class LoadingRoom {
  readonly #limits: RoomLimits;
  readonly #downloads: Turns;
  readonly #loadings = new Set<Loading>();
  #bytes = 0;

  constructor(limits: RoomLimits) {
    this.#limits = limits;
    this.#downloads = new Turns(limits.downloads);
  }

  /** That of all requests of this process. */
  static readonly ofAll = new LoadingRoom({
    downloads: MAX_DOWNLOADS_TOGETHER,
    requests: MAX_REQUESTS_LOADING,
    bytes: MAX_BYTES_LOADING,
  });

  /** What is held of downloaded files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rejects with `queue_full`, or as `load` does. What it holds is released when it ends. */
  async enter<T>(signal: AbortSignal | undefined, load: (loading: Loading) => Promise<T>): Promise<T> {
    if (this.#loadings.size >= this.#limits.requests) throw queueFull(this.#limits.requests);
    const loading = new Loading(signal);
    this.#loadings.add(loading);
    try {
      return await load(loading);
    } finally {
      this.#loadings.delete(loading);
      this.#release(loading);
    }
  }

  /** Each request in its turn. Rejects as `download` does, or with the reason of the loading's signal. */
  download<T>(loading: Loading, download: () => Promise<T>): Promise<T> {
    return this.#downloads.run(loading, loading.signal, download);
  }

  /** When there is no room for more bytes, whoever would hold most of all ends with `server_busy`. */
  hold(loading: Loading, bytes: number): void {
    if (loading.signal.aborted) return;
    while (this.#bytes + bytes > this.#limits.bytes) {
      const largest = this.#largest();
      if (largest === undefined || largest.bytes <= loading.bytes + bytes) {
        this.#giveUp(loading);
        return;
      }
      this.#giveUp(largest);
    }
    loading.bytes += bytes;
    this.#bytes += bytes;
  }

  #largest(): Loading | undefined {
    let largest: Loading | undefined;
    for (const loading of this.#loadings) if (loading.bytes > (largest?.bytes ?? 0)) largest = loading;
    return largest;
  }

  #giveUp(loading: Loading): void {
    this.#release(loading);
    loading.end(
      new ChasquiError(
        'server_busy',
        'The server has no room for more downloaded images, and this request has the most: try again in a moment.',
      ),
    );
  }

  #release(loading: Loading): void {
    this.#bytes -= loading.bytes;
    loading.bytes = 0;
  }
}

function queueFull(requests: number): ChasquiError {
  const error = new ChasquiError(
    'queue_full',
    `${requests} requests are loading images already: try again in a moment, or send images as PNG or JPEG in data URIs.`,
  );
  error.retryAfterSeconds = 5;
  return error;
}
