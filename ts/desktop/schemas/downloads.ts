/** Downloads, in the app's and in LM Studio's shapes. */
import {
  boolean,
  closedObjectOf,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../http/schema/json-schema.js';
import { modelName } from './models.js';

export const downloadJob = objectOf({
  id: string,
  /** `user/repo:QUANTISATION` */
  model: string,
  state: oneOf('queued', 'downloading', 'paused', 'verifying', 'completed', 'failed', 'cancelled'),
  totalBytes: number,
  downloadedBytes: number,
  bytesPerSecond: orNull(number),
  secondsLeft: orNull(number),
  error: orNull(objectOf({ code: string, message: string })),
  startedAt: number,
  finishedAt: orNull(number),
  path: orNull(string),
});

export const downloadBody = closedObjectOf(
  { model: modelName },
  {
    quantization: limited(string, { minLength: 1, maxLength: 100 }),
    /** Download even if this llama.cpp does not support the architecture. */
    any_architecture: boolean,
  },
);

export const downloadReply = objectOf({
  job_id: string,
  status: oneOf('downloading', 'paused', 'completed', 'failed', 'already_downloaded'),
  total_size_bytes: number,
  started_at: string,
});

export const downloadStatus = objectOf({
  ...downloadReply.properties,
  downloaded_bytes: number,
  bytes_per_second: orNull(number),
  /** ISO 8601. */
  estimated_completion: orNull(string),
  completed_at: orNull(string),
  error: orNull(string),
});

export type DownloadJob = Static<typeof downloadJob>;
export type DownloadBody = Static<typeof downloadBody>;
export type DownloadReply = Static<typeof downloadReply>;
export type DownloadStatus = Static<typeof downloadStatus>;
