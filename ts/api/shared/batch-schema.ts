/** A batch, in the form of OpenAI. */
import * as s from '../../http/schema/json-schema.js';

export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'] as const;

export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

const time = s.orNull(s.integer);

const batchError = s.objectOf({
  code: s.string,
  message: s.string,
  param: s.orNull(s.string),
  /** The number of the line, counted from 1; null if the error is not about a line. */
  line: s.orNull(s.integer),
});

const usage = s.objectOf({
  input_tokens: s.integer,
  input_tokens_details: s.objectOf({ cached_tokens: s.integer }),
  output_tokens: s.integer,
  output_tokens_details: s.objectOf({ reasoning_tokens: s.integer }),
  total_tokens: s.integer,
});

/** Times are Unix seconds. */
export const batchSchema = s.objectOf({
  id: s.string,
  object: s.exactly('batch'),
  endpoint: s.oneOf(...BATCH_ENDPOINTS),
  errors: s.orNull(s.objectOf({ object: s.exactly('list'), data: s.arrayOf(batchError) })),
  input_file_id: s.string,
  completion_window: s.string,
  status: s.oneOf(
    'validating',
    'failed',
    'in_progress',
    'finalizing',
    'completed',
    'expired',
    'cancelling',
    'cancelled',
  ),
  output_file_id: s.orNull(s.string),
  error_file_id: s.orNull(s.string),
  created_at: s.integer,
  in_progress_at: time,
  expires_at: s.integer,
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: s.objectOf({ total: s.integer, completed: s.integer, failed: s.integer }),
  metadata: s.orNull(s.recordOf(s.string)),
  /** Counts successful requests. Null until the batch has ended. */
  usage: s.orNull(usage),
});

export type BatchObject = s.Static<typeof batchSchema>;
export type BatchError = s.Static<typeof batchError>;

export interface StoredBatch {
  batch: BatchObject;
  /** The number of stored parts of its results. */
  parts: number;
}
