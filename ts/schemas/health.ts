/** The replies of `GET /live` and `GET /ready`, and of `GET /health`. Counts are of this moment, or since the engine started. */
import { exactly, integer, objectOf, string } from './json-schema.js';

export interface Probe {
  status: 'ok';
}

export const probeSchema = objectOf({ status: exactly('ok') });

export interface Health {
  status: 'ok';
  model: string;
  active: number;
  queued: number;
  kv_cells_used: number;
  kv_cells_cached: number;
  kv_cells_total: number;
  jobs_finished: number;
  jobs_cancelled: number;
  prompt_tokens: number;
  completion_tokens: number;
  drafted_tokens: number;
  accepted_tokens: number;
  decode_steps: number;
  embedded_tokens: number;
}

export const healthSchema = objectOf({
  status: exactly('ok'),
  model: string,
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
