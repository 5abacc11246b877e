/** Models of a hub. Downloads resume after a restart and share the cache of other programs. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import { type DownloadJob, Downloads } from '../../hub/downloads.js';
import { HubClient } from '../../hub/hub-client.js';
import { checkToken, type HubSettings } from '../../hub/hub-settings.js';

/** `fraction`: from 0 to 1. `totalBytes`: if the sender announces it. */
export type OnFetchProgress = (fraction: number, totalBytes?: number) => void;

export interface HubFetcher {
  /** Returns the path of the model's first file. `ownToken` overrides the token of the cloud. */
  fetch(name: string, ownToken: string | null, tell: OnFetchProgress): Promise<string>;
}

export class HubWeights implements HubFetcher {
  /** By hub token: a download with one token is not available to apps with another. */
  readonly #downloads = new Map<string | null, Promise<Downloads>>();

  /** `folder`: for the list of downloads and partial files; null: keep none. */
  constructor(
    private readonly settings: HubSettings,
    private readonly folder: string | null,
  ) {}

  /**
   * Uses an earlier download with the same token without asking the hub. Without its own token, an app uses the token
   * of the cloud.
   */
  async fetch(name: string, ownToken: string | null, tell: OnFetchProgress): Promise<string> {
    const downloads = await this.#downloadsWith(ownToken);
    const done = downloads.list().find((job) => sameName(job.model, name) && isDownloaded(job));
    if (done?.path != null) return done.path;
    const job = await downloads.start(name);
    const stop = downloads.on((changed) => {
      if (changed.id !== job.id || changed.totalBytes === 0) return;
      tell(changed.downloadedBytes / changed.totalBytes, changed.totalBytes);
    });
    try {
      const { path, error } = await downloads.ended(job.id);
      if (path !== null) return path;
      throw new ChasquiError('model_fetch_failed', error?.message ?? `The download of ${name} was stopped.`, null, {
        cause: error,
      });
    } finally {
      stop();
    }
  }

  async close(): Promise<void> {
    for (const opening of this.#downloads.values()) await (await opening.catch(() => null))?.close();
  }

  #downloadsWith(ownToken: string | null): Promise<Downloads> {
    const known = this.#downloads.get(ownToken);
    if (known !== undefined) return known;
    if (ownToken !== null) checkToken(ownToken);
    const { endpoint, token, cacheFolder } = this.settings;
    const client = new HubClient({ endpoint, token: ownToken ?? token });
    const folder = this.folder === null ? undefined : folderOf(this.folder, ownToken);
    const opening = Downloads.open({ client, cacheFolder, folder });
    this.#downloads.set(ownToken, opening);
    // The next call retries.
    opening.catch(() => this.#downloads.delete(ownToken));
    return opening;
  }
}

function folderOf(folder: string, token: string | null): string {
  if (token === null) return folder;
  return path.join(folder, createHash('sha256').update(token).digest('hex').slice(0, 16));
}

/** A name without a quantisation matches any earlier choice. */
function sameName(model: string, name: string): boolean {
  const [one, other] = [model.toLowerCase(), name.toLowerCase()];
  return one === other || (!other.includes(':') && one.startsWith(`${other}:`));
}

function isDownloaded({ state, path }: DownloadJob): boolean {
  return state === 'completed' && path !== null && fs.existsSync(path);
}
