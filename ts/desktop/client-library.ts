/** Downloads and deletions of models by clients of the server port. */

import type { ModelLibrary, PullWatch } from '../api/ollama/library/model-library.js';
import { toModelId } from '../api/ollama/ollama-settings.js';
import { ChasquiError, type ErrorCode } from '../errors.js';
import { parseModelName } from '../hub/model-name.js';
import type { DownloadJob } from './api-types.js';
import type { EventBus } from './event-bus.js';
import type { Hub } from './hub.js';
import type { Instances } from './instances.js';
import type { LocalModel } from './local-model.js';
import type { LocalModels } from './local-models.js';

interface Parts {
  hub: Hub;
  models: LocalModels;
  instances: Instances;
  events: EventBus;
}

export class ClientLibrary implements ModelLibrary {
  /** Number of waiting clients per download, for downloads begun by a client. */
  readonly #waiting = new Map<string, number>();

  constructor(private readonly parts: Parts) {}

  async pull(name: string, watch: PullWatch): Promise<void> {
    const { hub, models } = this.parts;
    const others = new Set(
      hub.downloads
        .list()
        .filter(({ state }) => state === 'queued' || state === 'downloading' || state === 'verifying')
        .map(({ id }) => id),
    );
    const { id } = await hub.downloads.start(name, { signal: watch.signal });
    if (others.has(id) && !this.#waiting.has(id)) {
      await this.#ended(id, watch);
    } else {
      this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1);
      await this.#ended(id, watch).finally(() => this.#leave(id, watch.signal));
    }
    await models.refresh();
  }

  async remove(name: string): Promise<void> {
    const { models } = this.parts;
    await models.remove(meantBy(name, await models.list()));
  }

  /** Resolves when the download is complete. Rejects if it ends otherwise, or when the last client leaves. */
  #ended(id: string, { signal, onProgress }: PullWatch): Promise<void> {
    const { hub, events } = this.parts;
    return new Promise((resolve, reject) => {
      const look = (job: DownloadJob): void => {
        onProgress?.({ files: this.#filesOf(id), isVerifying: job.state === 'verifying' });
        if (job.state === 'completed') end(resolve);
        else if (['failed', 'paused', 'cancelled'].includes(job.state)) end(() => reject(whyNot(job)));
      };
      const leave = (): void => end(() => reject(signal.reason));
      const stop = events.subscribe(({ name, data }) => {
        if (name === 'download' && data.id === id) look(data);
      });
      const end = (then: () => void): void => {
        stop();
        signal.removeEventListener('abort', leave);
        then();
      };
      signal.addEventListener('abort', leave);
      const job = hub.downloads.find(id);
      if (signal.aborted) leave();
      else if (job !== undefined) look(job);
    });
  }

  #filesOf(id: string) {
    return this.parts.hub.downloads
      .filesOf(id)
      .map(({ digest, totalBytes, downloadedBytes }) => ({ digest, totalBytes, completedBytes: downloadedBytes }));
  }

  /** Pauses a download without clients, as Ollama does. Downloads begun in the app continue. */
  #leave(id: string, signal: AbortSignal): void {
    const left = (this.#waiting.get(id) ?? 1) - 1;
    if (left > 0) this.#waiting.set(id, left);
    else this.#waiting.delete(id);
    const isGone = signal.aborted && (signal.reason as ChasquiError).code === 'client_closed_request';
    if (isGone && left <= 0) this.parts.hub.downloads.pause(id).catch(() => undefined);
  }
}

function whyNot({ state, model, error }: DownloadJob): ChasquiError {
  if (error !== null) return new ChasquiError(error.code as ErrorCode, error.message);
  return new ChasquiError('request_cancelled', `Download of ${model} ${state} in the app.`);
}

/** Returns the local id for a hub name, or the name itself if no local model matches. */
function meantBy(name: string, models: readonly LocalModel[]): string {
  const id = toModelId(name, models);
  if (models.some((model) => model.id === id)) return id;
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
