/** Downloads one model from the hub. */
import type { DownloadJob } from './download-job.js';
import { Downloads, type StartOptions } from './downloads.js';
import type { HubContext } from './open-hub.js';

export interface DownloadOptions extends StartOptions {
  /** Called at each change. */
  onChange?(job: DownloadJob): void;
}

/** Returns the job after its end, which may be a failure. Rejects with errors of the hub, or the signal's reason. */
export async function downloadModel(
  { client, settings: { cacheFolder } }: Pick<HubContext, 'client' | 'settings'>,
  name: string,
  { onChange, ...options }: DownloadOptions = {},
): Promise<DownloadJob> {
  const { signal } = options;
  signal?.throwIfAborted();
  const downloads = await Downloads.open({ client, cacheFolder });
  if (onChange) downloads.on(onChange);
  const close = () => void downloads.close();
  signal?.addEventListener('abort', close);
  try {
    const { id } = await downloads.start(name, options);
    return await Promise.race([downloads.ended(id), rejection(signal)]);
  } finally {
    signal?.removeEventListener('abort', close);
    await downloads.close();
  }
}

function rejection(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}
