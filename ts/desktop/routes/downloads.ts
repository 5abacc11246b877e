/** Downloads from the hub. */
import { ChasquiError } from '../../errors.js';
import { arrayOf, limited, objectOf, string } from '../../http/schema/json-schema.js';
import type { DownloadJob, DownloadReply, DownloadStatus } from '../api-types.js';
import { downloadBody, downloadJob, downloadReply, downloadStatus } from '../schemas/downloads.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

const params = objectOf({ id: limited(string, { maxLength: 100 }) });
const ACTIONS = ['pause', 'resume', 'cancel'] as const;

export function downloadsRoutes(app: DesktopRoutes, { hub }: DesktopApp): void {
  const start = { summary: 'Download a model', body: downloadBody, response: { 200: downloadReply } };
  app.post('/api/v1/models/download', { schema: start }, async ({ body }) => {
    const { model, quantization, any_architecture: anyArchitecture = false } = body;
    const name = quantization === undefined ? model : `${model}:${quantization}`;
    const job = await hub.downloads.start(name, { anyArchitecture });
    return toReply(job, job.state === 'completed' ? 'already_downloaded' : statusOf(job));
  });

  const jobs = objectOf({ jobs: arrayOf(downloadJob) });
  app.get('/api/v1/models/download', { schema: { summary: 'List downloads', response: { 200: jobs } } }, async () => {
    return { jobs: hub.downloads.list() };
  });

  const status = { summary: 'Progress of a download', params, response: { 200: downloadStatus } };
  app.get('/api/v1/models/download/status/:id', { schema: status }, async ({ params: { id } }) => {
    const job = hub.downloads.find(id);
    if (job === undefined) throw new ChasquiError('download_not_found', 'Download not found.', 'id');
    return toStatus(job);
  });

  for (const action of ACTIONS) {
    const schema = { summary: `${action} a download`, params, response: { 200: downloadJob } };
    app.post(`/api/v1/models/download/:id/${action}`, { schema }, async ({ params: { id } }) => {
      return hub.downloads[action](id);
    });
  }
}

/** Maps to LM Studio's states. */
function statusOf({ state }: DownloadJob): DownloadReply['status'] {
  if (state === 'paused' || state === 'completed') return state;
  return state === 'failed' || state === 'cancelled' ? 'failed' : 'downloading';
}

function toReply({ id, totalBytes, startedAt }: DownloadJob, status: DownloadReply['status']): DownloadReply {
  return { job_id: id, status, total_size_bytes: totalBytes, started_at: toIso(startedAt) };
}

function toStatus(job: DownloadJob): DownloadStatus {
  const { downloadedBytes, bytesPerSecond, secondsLeft, finishedAt, state, error } = job;
  return {
    ...toReply(job, statusOf(job)),
    downloaded_bytes: downloadedBytes,
    bytes_per_second: bytesPerSecond,
    estimated_completion: secondsLeft === null ? null : toIso(Date.now() + secondsLeft * 1000),
    completed_at: state === 'completed' && finishedAt !== null ? toIso(finishedAt) : null,
    error: error?.message ?? null,
  };
}

function toIso(at: number): string {
  return new Date(at).toISOString();
}
