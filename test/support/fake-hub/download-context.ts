/** A fake hub with a folder to download into, for tests. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type DownloadJob, Downloads, type DownloadsOptions } from '../../../ts/hub/downloads.js';
import { HubClient } from '../../../ts/hub/hub-client.js';
import { type FakeHub, fakeHub } from '../fake-hub.js';
import { tinyModel } from './models.js';

export const REPO = 'ada/tiny-GGUF';
export const FILE = 'tiny-Q4_K_M.gguf';
export const MODEL = tinyModel(400_000);

export interface DownloadContext {
  hub: FakeHub;
  folder: string;
  client: HubClient;
  /** Opens downloads that are quick to try again; they are closed after the test. */
  open(options?: Partial<DownloadsOptions>): Promise<Downloads>;
  close(): Promise<void>;
}

export async function downloadContext(): Promise<DownloadContext> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hub-'));
  const hub = await fakeHub({ [REPO]: { files: { [FILE]: MODEL }, gguf: { architecture: 'llama', total: 800_000 } } });
  const client = new HubClient({ endpoint: hub.url });
  const opened: Downloads[] = [];
  return {
    hub,
    folder,
    client,
    open: async (options = {}) => {
      const quick = { minRangeBytes: 50_000, stallTimeoutMs: 500, retryDelayMs: 20 };
      const downloads = await Downloads.open({ client, cacheFolder: folder, ...quick, ...options });
      opened.push(downloads);
      return downloads;
    },
    close: async () => {
      await Promise.all(opened.map((downloads) => downloads.close()));
      await client.close();
      await hub.close();
      fs.rmSync(folder, { recursive: true });
    },
  };
}

export async function download(downloads: Downloads, name: string): Promise<DownloadJob> {
  const { id } = await downloads.start(name);
  return downloads.ended(id);
}

/** Files of the repository's folder of bytes. */
export function blobsIn(folder: string, repo = REPO): string[] {
  const blobs = path.join(folder, `models--${repo.replace('/', '--')}`, 'blobs');
  return fs.existsSync(blobs) ? fs.readdirSync(blobs) : [];
}
