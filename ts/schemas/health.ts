/** The reply of `GET /health`. Counts are of this moment, or since the engine started. */

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
