/** Downloads that continue without their client, in the form of llama-server. */
import { ChasquiError } from '../../errors.js';
import type { ModelLibrary, PullProgress } from './model-library.js';

/** Bytes of each file, by its digest. */
export type FileProgress = Record<string, { done: number; total: number }>;

export type DownloadEvent = { model: string } & (
  | { event: 'download_progress'; data: { progress: FileProgress } }
  | { event: 'download_finished' }
  | { event: 'download_failed'; data: { reason: string } }
);

export interface RunningDownload {
  model: string;
  /** Unix seconds. */
  created: number;
  progress: FileProgress;
}

interface Running extends RunningDownload {
  stop: AbortController;
}

export interface DownloadHooks {
  /** Ends the download when the server stops. */
  stopping: AbortSignal;
  /** Converts what ended the download to an error for clients. */
  toError(thrown: unknown): ChasquiError;
}

/** Each waits for its turn, and for a place on the disk. */
const MAX_DOWNLOADS = 16;
const RETRY_AFTER_SECONDS = 30;

export class ClientDownloads {
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<(event: DownloadEvent) => void>();

  constructor(private readonly library: ModelLibrary) {}

  /** Resolves when the hub has the model and the download is in the queue. Rejects with errors before that. */
  async start(model: string, { stopping, toError }: DownloadHooks): Promise<void> {
    if (this.#running.has(model)) {
      throw new ChasquiError('model_exists', `The model \`${model}\` is already being downloaded.`, 'model');
    }
    if (this.#running.size >= MAX_DOWNLOADS) throw tooMany();
    const running: Running = {
      model,
      created: Math.floor(Date.now() / 1000),
      progress: {},
      stop: new AbortController(),
    };
    this.#running.set(model, running);
    const signal = AbortSignal.any([running.stop.signal, stopping]);
    let hasBegun = false;
    await new Promise<void>((resolve, reject) => {
      const onProgress = ({ files }: PullProgress): void => {
        hasBegun = true;
        running.progress = Object.fromEntries(
          files.map(({ digest, completedBytes: done, totalBytes: total }) => [`sha256:${digest}`, { done, total }]),
        );
        this.#tell({ model, event: 'download_progress', data: { progress: running.progress } });
        resolve();
      };
      const end = (): void => void this.#running.delete(model);
      const finish = (): void => {
        end();
        this.#tell({ model, event: 'download_finished' });
        resolve();
      };
      const fail = (thrown: unknown): void => {
        end();
        if (!hasBegun) reject(thrown);
        else this.#tell({ model, event: 'download_failed', data: { reason: toError(thrown).message } });
      };
      this.library.pull(model, { signal, onProgress }).then(finish, fail);
    });
  }

  /** Pauses a download; the next one of the same model resumes it. Returns false if there is none. */
  pause(model: string): boolean {
    const running = this.#running.get(model);
    running?.stop.abort(new ChasquiError('client_closed_request', 'The download was paused.'));
    return running !== undefined;
  }

  list(): readonly RunningDownload[] {
    return [...this.#running.values()];
  }

  /** Returns a function that removes the listener. */
  onEvent(listener: (event: DownloadEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(event: DownloadEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

function tooMany(): ChasquiError {
  const message = `At most ${MAX_DOWNLOADS} models can be downloaded at a time. Try again when one is finished.`;
  return Object.assign(new ChasquiError('queue_full', message), { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
