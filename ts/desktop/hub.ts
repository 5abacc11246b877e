/** The configured hub: its client and its downloads. */
import { type DownloadJob, Downloads } from '../hub/downloads.js';
import { HubClient } from '../hub/hub-client.js';
import type { HubSettings } from '../hub/hub-settings.js';

export class Hub {
  #client: HubClient;
  /** Serialises changes of the settings. */
  #work: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly settings: () => HubSettings,
    client: HubClient,
    readonly downloads: Downloads,
  ) {
    this.#client = client;
  }

  /** Resumes unfinished downloads. */
  static async open(folder: string, settings: () => HubSettings, onDownload: (job: DownloadJob) => void): Promise<Hub> {
    const { cacheFolder, ...hub } = settings();
    const client = new HubClient(hub);
    const downloads = await Downloads.open({ client, cacheFolder, folder });
    downloads.on(onDownload);
    return new Hub(settings, client, downloads);
  }

  get client(): HubClient {
    return this.#client;
  }

  get isBusy(): boolean {
    return this.downloads.list().some(({ state }) => state === 'downloading' || state === 'verifying');
  }

  /** Restarts running downloads with the current hub and token. */
  reopen(): Promise<void> {
    const { endpoint, token } = this.settings();
    const client = new HubClient({ endpoint, token });
    const reopening = this.#work.then(async () => {
      const before = this.#client;
      this.#client = client;
      await this.downloads.moveTo(client);
      await before.close();
    });
    this.#work = reopening.catch(() => undefined);
    return reopening;
  }

  async close(): Promise<void> {
    await this.#work;
    await this.downloads.close();
    await this.#client.close();
  }
}
