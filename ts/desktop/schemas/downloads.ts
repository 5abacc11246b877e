/** Downloads, as events and lists tell of them and in LM Studio's shapes. */
import { type Static, Type } from 'typebox';
import { modelName } from './models.js';

const nullableNumber = Type.Union([Type.Number(), Type.Null()]);
const nullableText = Type.Union([Type.String(), Type.Null()]);

export const downloadJob = Type.Object({
  id: Type.String(),
  /** `user/repo:QUANTISATION` */
  model: Type.String(),
  state: Type.Enum(['queued', 'downloading', 'paused', 'verifying', 'completed', 'failed', 'cancelled']),
  totalBytes: Type.Number(),
  downloadedBytes: Type.Number(),
  bytesPerSecond: nullableNumber,
  secondsLeft: nullableNumber,
  error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
  startedAt: Type.Number(),
  finishedAt: nullableNumber,
  path: nullableText,
});

export const downloadBody = Type.Object(
  {
    model: modelName,
    quantization: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    /** Even if this llama.cpp does not know the kind of model. */
    any_architecture: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

export const downloadReply = Type.Object({
  job_id: Type.String(),
  status: Type.Enum(['downloading', 'paused', 'completed', 'failed', 'already_downloaded']),
  total_size_bytes: Type.Number(),
  started_at: Type.String(),
});

export const downloadStatus = Type.Object({
  ...downloadReply.properties,
  downloaded_bytes: Type.Number(),
  bytes_per_second: nullableNumber,
  /** When it will be complete, in ISO 8601. */
  estimated_completion: nullableText,
  completed_at: nullableText,
  error: nullableText,
});

export type DownloadJob = Static<typeof downloadJob>;
export type DownloadBody = Static<typeof downloadBody>;
export type DownloadReply = Static<typeof downloadReply>;
export type DownloadStatus = Static<typeof downloadStatus>;
