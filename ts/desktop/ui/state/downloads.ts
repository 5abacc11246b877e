/** Download actions, and the models they belong to. */
import type { DownloadJob } from '../../api-types.js';
import { post } from './api.js';
import { downloads, library, takeDownload } from './app.js';

export async function control(job: DownloadJob, action: 'pause' | 'resume' | 'cancel'): Promise<void> {
  takeDownload(await post<DownloadJob>(`/models/download/${encodeURIComponent(job.id)}/${action}`));
}

/** The newest download of a quantisation. */
export function downloadOf(repo: string, label: string): DownloadJob | undefined {
  const wanted = `${repo}:${label}`.toLowerCase();
  return downloads.value.find(({ model }) => model.toLowerCase() === wanted);
}

/** Maps a download name to the key of the local model. */
export function keyOf(model: string): string | undefined {
  const wanted = model.toLowerCase();
  return library.value?.find(({ key }) => key.toLowerCase() === wanted)?.key;
}
