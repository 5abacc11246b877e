/** Downloads and deletions of models by clients of the server port. */

import type { ModelLibrary, PullWatch } from '../api/shared/model-library.js';
import { ChasquiError, type ErrorCode } from '../errors.js';
import type { DownloadJob, Downloads } from '../hub/downloads.js';
import type { LocalModel } from '../hub/library.js';
import { parseModelName } from '../hub/model-name.js';
import { findEntry } from '../models/pool.js';

/** The models that clients may delete, and those that were downloaded. */
export interface ChangeableModels {
  list(): Promise<readonly Named[]>;
  /** Serves new models. */
  refresh(): Promise<void>;
  /** Unloads a model and deletes its files. */
  remove(id: string): Promise<unknown>;
}

interface Parts {
  downloads: Downloads;
  models: ChangeableModels;
}

export class ClientLibrary implements ModelLibrary {
  /** Number of waiting clients per download, for downloads begun by a client. */
  readonly #waiting = new Map<string, number>();
  readonly #starting = new Set<Promise<unknown>>();
  readonly #pausing = new Set<Promise<void>>();

  constructor(private readonly parts: Parts) {}

  async pull(name: string, watch: PullWatch): Promise<void> {
    // A transfer that is being paused cannot be joined.
    await Promise.all(this.#pausing);
    const starting = this.#start(name, watch.signal);
    this.#starting.add(starting);
    const { id, isOwn } = await starting.finally(() => this.#starting.delete(starting));
    const ended = this.#ended(id, watch);
    await (isOwn ? ended.finally(() => this.#leave(id, watch.signal)) : ended);
    await this.parts.models.refresh();
  }

  /** `isOwn`: the download was not begun in the app, and the caller is counted as waiting. */
  async #start(name: string, signal: AbortSignal): Promise<{ id: string; isOwn: boolean }> {
    const { downloads } = this.parts;
    const others = new Set(
      downloads
        .list()
        .filter(({ state }) => state === 'queued' || state === 'downloading' || state === 'verifying')
        .map(({ id }) => id),
    );
    const { id } = await downloads.start(name, { signal });
    const isOwn = !others.has(id) || this.#waiting.has(id);
    if (isOwn) this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1);
    return { id, isOwn };
  }

  async remove(name: string): Promise<void> {
    const { downloads, models } = this.parts;
    const unfinished = downloads.list().filter(({ state }) => state !== 'completed' && state !== 'cancelled');
    const names = unfinished.map(({ model }) => toNamed(model));
    const cancelled = unfinished.filter(({ model }) => model === meantBy(name, names));
    for (const { id } of cancelled) await downloads.cancel(id);
    const local = await models.list();
    const id = meantBy(name, local);
    if (cancelled.length === 0 || local.some((model) => model.id === id)) await models.remove(id);
  }

  /** Resolves when the download is complete. Rejects if it ends otherwise, or when the last client leaves. */
  #ended(id: string, { signal, onProgress }: PullWatch): Promise<void> {
    const { downloads } = this.parts;
    return new Promise((resolve, reject) => {
      const look = (job: DownloadJob): void => {
        onProgress?.({ files: this.#filesOf(id), isVerifying: job.state === 'verifying' });
        if (job.state === 'completed') end(resolve);
        else if (['failed', 'paused', 'cancelled'].includes(job.state)) end(() => reject(whyNot(job)));
      };
      const leave = (): void => end(() => reject(signal.reason));
      const stop = downloads.on((changed) => {
        if (changed.id === id) look(changed);
      });
      const end = (then: () => void): void => {
        stop();
        signal.removeEventListener('abort', leave);
        then();
      };
      signal.addEventListener('abort', leave);
      const job = downloads.find(id);
      if (signal.aborted) leave();
      else if (job !== undefined) look(job);
    });
  }

  #filesOf(id: string) {
    return this.parts.downloads
      .filesOf(id)
      .map(({ digest, totalBytes, downloadedBytes }) => ({ digest, totalBytes, completedBytes: downloadedBytes }));
  }

  /** Pauses a download without clients, as Ollama does. Downloads begun in the app continue. */
  async #leave(id: string, signal: AbortSignal): Promise<void> {
    const left = (this.#waiting.get(id) ?? 1) - 1;
    this.#waiting.set(id, left);
    if (left > 0) return;
    const isGone = signal.aborted && (signal.reason as ChasquiError).code === 'client_closed_request';
    if (!isGone) {
      this.#waiting.delete(id);
      return;
    }
    const pausing = this.#pauseUnlessJoined(id);
    this.#pausing.add(pausing);
    await pausing.finally(() => this.#pausing.delete(pausing));
  }

  async #pauseUnlessJoined(id: string): Promise<void> {
    await Promise.allSettled(this.#starting);
    if (this.#waiting.get(id) !== 0) return;
    this.#waiting.delete(id);
    await this.parts.downloads.pause(id).catch(() => undefined);
  }
}

function whyNot({ state, model, error }: DownloadJob): ChasquiError {
  if (error !== null) return new ChasquiError(error.code as ErrorCode, error.message);
  return new ChasquiError('request_cancelled', `Download of ${model} ${state} in the app.`);
}

type Named = Pick<LocalModel, 'id' | 'repo' | 'quantisation'>;

function toNamed(model: string): Named {
  const { repo, tag } = parseModelName(model);
  return { id: model, repo, quantisation: tag };
}

/** Returns the local id for a hub name, or the name itself if no local model matches. */
function meantBy(name: string, models: readonly Named[]): string {
  const known = findEntry(models, name);
  if (known !== undefined) return known.id;
  try {
    const { repo, tag } = parseModelName(name);
    const same = (one: string | null, other: string) => one?.toLowerCase() === other.toLowerCase();
    const meant = models.filter((model) => same(model.repo, repo) && (tag === null || same(model.quantisation, tag)));
    // Several matches are ambiguous.
    return meant.length === 1 && meant[0] !== undefined ? meant[0].id : name;
  } catch {
    return name;
  }
}
