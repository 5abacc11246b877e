/** Downloads a model, or resumes its download. */
import { type DownloadJob, Downloads } from '../../../ts/hub/downloads.js';
import { HubClient } from '../../../ts/hub/hub-client.js';

export interface DownloadPlace {
  endpoint: string;
  cacheFolder: string;
  /** Of the list. */
  folder: string;
  model: string;
}

/** `began` gets the number of bytes at the start, and `onState` each state. */
export async function resumeDownload(
  { endpoint, cacheFolder, folder, model }: DownloadPlace,
  began: (bytes: number) => void,
  onState: (state: DownloadJob['state']) => void = () => {},
): Promise<DownloadJob> {
  const client = new HubClient({ endpoint });
  const settings = { minRangeBytes: 50_000, stallTimeoutMs: 60_000, retryDelayMs: 20 };
  const downloads = await Downloads.open({ client, cacheFolder, folder, ...settings });
  downloads.on(({ state }) => onState(state));
  const { id, downloadedBytes } = downloads.list()[0] ?? (await downloads.start(model));
  began(downloadedBytes);
  const job = await downloads.ended(id);
  await downloads.close();
  await client.close();
  return job;
}
