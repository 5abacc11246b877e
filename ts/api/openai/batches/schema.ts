/** Requests for batches, and lists of them. */
import * as s from '../../../http/schema/json-schema.js';
import { BATCH_ENDPOINTS, batchSchema } from '../../shared/batch-schema.js';
import { metadata } from '../../shared/metadata-schema.js';

export const batchListSchema = s.objectOf({
  object: s.exactly('list'),
  data: s.arrayOf(batchSchema),
  first_id: s.orNull(s.string),
  last_id: s.orNull(s.string),
  has_more: s.boolean,
});

/** The body of `POST /v1/batches`. */
export const newBatchSchema = s.objectOf(
  {
    input_file_id: s.field('The id of an uploaded JSONL file, one request per line.', s.string),
    endpoint: s.field('The path that all requests of the file are for.', s.oneOf(...BATCH_ENDPOINTS)),
  },
  {
    completion_window: s.field('Time after which the batch expires: up to `336h` or `14d`.', s.string, {
      pattern: '^([1-9][0-9]{0,3}[mh]|[1-9][0-9]?d)$',
      default: '24h',
    }),
    metadata,
  },
);

export type BatchList = s.Static<typeof batchListSchema>;
export type NewBatch = s.Static<typeof newBatchSchema>;
