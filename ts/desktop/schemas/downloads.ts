/** Downloads, in the app's and in LM Studio's shapes. */
import * as s from '../../http/schema/json-schema.js';
import { modelName } from './models.js';

export const downloadJob = s.objectOf({
  id: s.string,
  /** `user/repo:QUANTISATION` */
  model: s.string,
  state: s.oneOf('queued', 'downloading', 'paused', 'verifying', 'completed', 'failed', 'cancelled'),
  totalBytes: s.number,
  downloadedBytes: s.number,
  bytesPerSecond: s.orNull(s.number),
  secondsLeft: s.orNull(s.number),
  error: s.orNull(s.objectOf({ code: s.string, message: s.string })),
  startedAt: s.number,
  finishedAt: s.orNull(s.number),
  path: s.orNull(s.string),
});

export const downloadBody = s.closedObjectOf(
  { model: modelName },
  {
    quantization: s.limited(s.string, { minLength: 1, maxLength: 100 }),
    /** Download even if this llama.cpp does not support the architecture. */
    any_architecture: s.boolean,
  },
);

export const downloadReply = s.objectOf({
  job_id: s.string,
  status: s.oneOf('downloading', 'paused', 'completed', 'failed', 'already_downloaded'),
  total_size_bytes: s.number,
  started_at: s.string,
});

export const downloadStatus = s.objectOf({
  ...downloadReply.properties,
  downloaded_bytes: s.number,
  bytes_per_second: s.orNull(s.number),
  /** ISO 8601. */
  estimated_completion: s.orNull(s.string),
  completed_at: s.orNull(s.string),
  error: s.orNull(s.string),
});

export type DownloadJob = s.Static<typeof downloadJob>;
export type DownloadReply = s.Static<typeof downloadReply>;
export type DownloadStatus = s.Static<typeof downloadStatus>;
