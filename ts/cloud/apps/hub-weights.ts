/** Models of a hub: downloads that go on where they were after a restart, into the cache that other programs share. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import { type DownloadJob, Downloads } from '../../hub/downloads.js';
import { HubClient } from '../../hub/hub-client.js';
import { checkToken, type HubSettings } from '../../hub/hub-settings.js';

/** Told how much of a model has come, from 0 to 1, and how many bytes it has where the sender says so. */
export type TellFetched = (fraction: number, totalBytes?: number) => void;

export interface HubFetcher {
  /** Returns the path of the model's first file. `ownToken` goes before the one that the hub is asked with otherwise. */
  fetch(name: string, ownToken: string | null, tell: TellFetched): Promise<string>;
}

export class HubWeights implements HubFetcher {
  /** By the token that the hub is asked with: what one may have is not for the others. */
  readonly #downloads = new Map<string | null, Promise<Downloads>>();

  /** `folder`: where the list of downloads is kept, and what has come of them; null: nowhere. */
  constructor(
    private readonly settings: HubSettings,
    private readonly folder: string | null,
  ) {}

  /**
   * Returns the path of the model's first file. What was downloaded before with the same token is taken without asking
   * the hub. Without a token of its own, the app's request goes with that of the cloud, if it has one.
   */
  async fetch(name: string, ownToken: string | null, tell: TellFetched): Promise<string> {
    const downloads = await this.#downloadsWith(ownToken);
    const done = downloads.list().find((job) => sameName(job.model, name) && isThere(job));
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
    // The next one who asks tries again.
    opening.catch(() => this.#downloads.delete(ownToken));
    return opening;
  }
}

function folderOf(folder: string, token: string | null): string {
  if (token === null) return folder;
  return path.join(folder, createHash('sha256').update(token).digest('hex').slice(0, 16));
}

/** A name without a quantisation is that of whichever was chosen before. */
function sameName(model: string, name: string): boolean {
  const [one, other] = [model.toLowerCase(), name.toLowerCase()];
  return one === other || (!other.includes(':') && one.startsWith(`${other}:`));
}

function isThere({ state, path }: DownloadJob): boolean {
  return state === 'completed' && path !== null && fs.existsSync(path);
}
