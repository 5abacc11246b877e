/** The hub as it is set in the app: its client, and the downloads from it. */
import { type DownloadJob, Downloads } from '../hub/downloads.js';
import { HubClient } from '../hub/hub-client.js';
import type { HubSettings } from '../hub/hub-settings.js';

interface OpenHub {
  client: HubClient;
  downloads: Downloads;
}

export class Hub {
  readonly #folder: string;
  readonly #settings: () => HubSettings;
  readonly #onDownload: (job: DownloadJob) => void;
  #hub: OpenHub;
  /** One change of the settings after the other. */
  #work: Promise<unknown> = Promise.resolve();

  private constructor(
    folder: string,
    settings: () => HubSettings,
    onDownload: (job: DownloadJob) => void,
    hub: OpenHub,
  ) {
    this.#folder = folder;
    this.#settings = settings;
    this.#onDownload = onDownload;
    this.#hub = hub;
  }

  /** Downloads that were not over when the app ended go on. */
  static async open(folder: string, settings: () => HubSettings, onDownload: (job: DownloadJob) => void): Promise<Hub> {
    return new Hub(folder, settings, onDownload, await openHub(folder, settings(), onDownload));
  }

  get client(): HubClient {
    return this.#hub.client;
  }

  get downloads(): Downloads {
    return this.#hub.downloads;
  }

  /** Whether something is coming. */
  get isBusy(): boolean {
    return this.downloads.list().some(({ state }) => state === 'downloading' || state === 'verifying');
  }

  /** What is coming goes on from the hub, and with the token, that are set now. */
  reopen(): Promise<void> {
    const settings = this.#settings();
    const reopening = this.#work.then(async () => {
      await closeHub(this.#hub);
      this.#hub = await openHub(this.#folder, settings, this.#onDownload);
    });
    this.#work = reopening.catch(() => undefined);
    return reopening;
  }

  async close(): Promise<void> {
    await this.#work;
    await closeHub(this.#hub);
  }
}

async function openHub(
  folder: string,
  settings: HubSettings,
  onDownload: (job: DownloadJob) => void,
): Promise<OpenHub> {
  const { endpoint, token, cacheFolder } = settings;
  const client = new HubClient({ endpoint, token });
  const downloads = await Downloads.open({ client, cacheFolder, folder });
  downloads.on(onDownload);
  return { client, downloads };
}

async function closeHub({ client, downloads }: OpenHub): Promise<void> {
  await downloads.close();
  await client.close();
}
