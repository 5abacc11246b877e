/** Models of a hub: downloads that go on where they were after a restart, into the cache that other programs share. */
import fs from 'node:fs';
import { ChasquiError } from '../../errors.js';
import { type DownloadJob, Downloads } from '../../hub/downloads.js';
import { HubClient } from '../../hub/hub-client.js';
import type { HubSettings } from '../../hub/hub-settings.js';

export class HubWeights {
  #downloads: Promise<Downloads> | null = null;

  /** `folder`: where the list of downloads is kept, and what has come of them. */
  constructor(
    private readonly settings: HubSettings,
    private readonly folder: string,
  ) {}

  /** Returns the path of the model's first file. What was downloaded before is taken without asking the hub. */
  async fetch(name: string, tell: (fraction: number) => void): Promise<string> {
    this.#downloads ??= this.#open();
    const downloads = await this.#downloads;
    const done = downloads.list().find((job) => sameName(job.model, name) && isThere(job));
    if (done?.path != null) return done.path;
    const job = await downloads.start(name);
    const stop = downloads.on((changed) => {
      if (changed.id === job.id && changed.totalBytes > 0) tell(changed.downloadedBytes / changed.totalBytes);
    });
    try {
      const { path, error } = await downloads.ended(job.id);
      if (path !== null) return path;
      throw new ChasquiError('model_fetch_failed', error?.message ?? `The download of ${name} was stopped.`);
    } finally {
      stop();
    }
  }

  async close(): Promise<void> {
    const downloads = await this.#downloads?.catch(() => null);
    await downloads?.close();
  }

  #open(): Promise<Downloads> {
    const { endpoint, token, cacheFolder } = this.settings;
    const opening = Downloads.open({ client: new HubClient({ endpoint, token }), cacheFolder, folder: this.folder });
    // The next one who asks tries again.
    opening.catch(() => {
      this.#downloads = null;
    });
    return opening;
  }
}

/** A name without a quantisation is that of whichever was chosen before. */
function sameName(model: string, name: string): boolean {
  const [one, other] = [model.toLowerCase(), name.toLowerCase()];
  return one === other || (!other.includes(':') && one.startsWith(`${other}:`));
}

function isThere({ state, path }: DownloadJob): boolean {
  return state === 'completed' && path !== null && fs.existsSync(path);
}
