/** The replies of `GET /live` and `GET /ready`, and of `GET /health`. Counts are of this moment, or since the engine started. */
import { arrayOf, exactly, integer, objectOf, orNull, type Static, string } from '../../../http/schema/json-schema.js';

export const probeSchema = objectOf({ status: exactly('ok') });

export type Probe = Static<typeof probeSchema>;

export const healthSchema = objectOf({
  status: exactly('ok'),
  /** The first loaded model, or else the first. */
  model: orNull(string),
  /** Why loaded models are slower than they could be. */
  warnings: arrayOf(string),
  active: integer,
  queued: integer,
  kv_cells_used: integer,
  kv_cells_cached: integer,
  kv_cells_total: integer,
  jobs_finished: integer,
  jobs_cancelled: integer,
  prompt_tokens: integer,
  completion_tokens: integer,
  drafted_tokens: integer,
  accepted_tokens: integer,
  decode_steps: integer,
  embedded_tokens: integer,
});

export type Health = Static<typeof healthSchema>;
