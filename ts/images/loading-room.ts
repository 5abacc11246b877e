/** Limits the connections, memory and queue of all requests that load images. */
import { ChasquiError } from '../errors.js';
import { MAX_BYTES_LOADING, MAX_DOWNLOADS_TOGETHER, MAX_REQUESTS_LOADING } from './limits.js';
import { Turns } from './turns.js';

export interface RoomLimits {
  /** Concurrent downloads. */
  downloads: number;
  /** Requests that download, convert, or wait for it. */
  requests: number;
  /** Bytes of downloaded files of requests that still load images. */
  bytes: number;
}

/** The images of one request, while they are loaded. */
export class Loading {
  /** Aborted when the images are no longer needed. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  /** Bytes of its downloaded files. */
  bytes = 0;

  constructor(outer: AbortSignal | undefined) {
    this.signal = outer ? AbortSignal.any([outer, this.#end.signal]) : this.#end.signal;
  }

  end(reason: unknown): void {
    this.#end.abort(reason);
  }
}

export class LoadingRoom {
  readonly #downloads: Turns;
  readonly #loadings = new Set<Loading>();
  #bytes = 0;

  constructor(private readonly limits: RoomLimits) {
    this.#downloads = new Turns(limits.downloads);
  }

  /** Shared by all requests of this process. */
  static readonly ofAll = new LoadingRoom({
    downloads: MAX_DOWNLOADS_TOGETHER,
    requests: MAX_REQUESTS_LOADING,
    bytes: MAX_BYTES_LOADING,
  });

  /** Bytes of all downloaded files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rejects with `queue_full`, or as `load` does. Releases the memory at the end. */
  async enter<T>(signal: AbortSignal | undefined, load: (loading: Loading) => Promise<T>): Promise<T> {
    if (this.#loadings.size >= this.limits.requests) throw queueFull(this.limits.requests);
    const loading = new Loading(signal);
    this.#loadings.add(loading);
    try {
      return await load(loading);
    } finally {
      this.#loadings.delete(loading);
      this.#release(loading);
    }
  }

  /** Requests take turns. Rejects as `download` does, or with the reason of the signal. */
  download<T>(loading: Loading, download: () => Promise<T>): Promise<T> {
    return this.#downloads.run(loading, loading.signal, download);
  }

  /** At the memory limit, the request with the most bytes ends with `server_busy`. */
  hold(loading: Loading, bytes: number): void {
    if (loading.signal.aborted) return;
    while (this.#bytes + bytes > this.limits.bytes) {
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
