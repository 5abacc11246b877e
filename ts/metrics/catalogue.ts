/** All metrics, with their kinds, help texts, labels and buckets. */
import type { FamilyKind } from './exposition.js';

export interface MetricRow {
  kind: FamilyKind;
  help: string;
  labels: readonly string[];
  /** Of a histogram: the upper bounds of its buckets, ascending. */
  buckets?: readonly number[];
}

/** These are the bounds of vLLM's histograms, so that measurements of both servers can be compared. */
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
const BETWEEN_TOKENS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80];
const LATENCIES = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680];
const TOKENS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000];

const LOADING = [0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600];
const LAG = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const MODEL = ['model_name'];

function counter(help: string, labels: readonly string[] = MODEL): MetricRow {
  return { kind: 'counter', help, labels };
}

function gauge(help: string, labels: readonly string[] = MODEL): MetricRow {
  return { kind: 'gauge', help, labels };
}

function histogram(help: string, buckets: readonly number[], labels: readonly string[] = MODEL): MetricRow {
  return { kind: 'histogram', help, labels, buckets };
}

export const CATALOGUE = {
  // The engine keeps these. A scrape shows the counts that it returned last.
  engine_up: gauge('1 when the engine returned its counts for this scrape, else 0.'),
  num_requests_running: gauge('Completions that hold a slot: in prefill, decoding, or paused for a slow reader.'),
  num_requests_waiting: gauge('Completions that wait for a slot.'),
  kv_cache_usage_perc: gauge('Share of the KV cells that running completions hold, from 0 to 1.'),
  kv_cache_cells: gauge(
    'KV cells by what they hold: running completions (used), the prefix cache (cached), nothing (free).',
    ['model_name', 'state'],
  ),
  engine_process_cpu_seconds_total: counter("Processor time of the engine's own process; Linux only."),
  engine_process_resident_memory_bytes: gauge("Resident memory of the engine's own process; Linux only."),
  engine_step_age_seconds: gauge('How long the current step has taken so far; 0 when there is none.'),
  engine_steps_total: counter('Steps that the engine has computed.'),
  engine_passes_total: counter('Passes over the weights in these steps (ubatches).'),
  engine_step_seconds_total: counter('Time that these steps took together.'),
  num_preemptions_total: counter('Completions that lost their slot to another one, and were computed on later.'),
  spec_decode_num_draft_tokens_total: counter('Tokens that drafts proposed.'),
  spec_decode_num_accepted_tokens_total: counter('Tokens of drafts that the model accepted.'),
  images_encoded_total: counter('Images that the projector encoded.'),
  embedded_tokens_total: counter('Tokens of texts that vectors or scores were computed of.'),
  sampled_aside_total: counter('Tokens sampled outside a step because of a slow grammar.'),

  // The server counts these as requests pass through it.
  prompt_tokens_total: counter('Tokens of prompts, including those found in the prefix cache.'),
  generation_tokens_total: counter('Tokens generated.'),
  prefix_cache_queries_total: counter('Tokens of prompts that were looked for in the prefix cache.'),
  prefix_cache_hits_total: counter('Tokens of prompts that were found in the prefix cache and not computed again.'),
  request_success_total: counter('Completions that ended, by reason: stop, length, abort (the client left) or error.', [
    'model_name',
    'finished_reason',
  ]),
  time_to_first_token_seconds: histogram('Time from the arrival of a request to its first token.', FIRST_TOKEN),
  inter_token_latency_seconds: histogram(
    'Time between two batches of tokens of one streamed completion.',
    BETWEEN_TOKENS,
  ),
  request_time_per_output_token_seconds: histogram(
    'Mean time of a token after the first, for each completion.',
    BETWEEN_TOKENS,
  ),
  request_queue_time_seconds: histogram('Time that a completion waited for a slot.', LATENCIES),
  request_prefill_time_seconds: histogram('Time from getting a slot to the first token.', LATENCIES),
  request_decode_time_seconds: histogram('Time from the first token to the last.', LATENCIES),
  request_inference_time_seconds: histogram('Time from getting a slot to the last token.', LATENCIES),
  e2e_request_latency_seconds: histogram('Time from the arrival of a request to its last token.', LATENCIES),
  request_prompt_tokens: histogram('Length of prompts, in tokens.', TOKENS),
  request_generation_tokens: histogram('Length of completions, in tokens.', TOKENS),

  // These count HTTP requests of all models.
  http_requests_total: counter('Replies, by endpoint and status.', ['endpoint', 'status']),
  request_failures_total: counter('Requests that were refused or failed, by the code of the error.', ['code']),

  // These count starts of engines.
  engine_restarts_total: counter('Restarts of the engine after it had died.'),
  preparation_restarts_total: counter('Replacements of the process that prepares requests.'),
  model_load_seconds: histogram('Time to load the model.', LOADING),

  // These describe the process that serves.
  process_cpu_seconds_total: counter('Processor time of this process, in user and system mode.', []),
  process_resident_memory_bytes: gauge('Resident memory of this process.', []),
  process_start_time_seconds: gauge('Start time of this process, in seconds since 1970.', []),
  process_open_fds: gauge('Open descriptors of this process; Linux only.', []),
  process_max_fds: gauge('Maximum of open descriptors of this process; Linux only.', []),
  event_loop_lag_seconds: histogram('Delay of a timer by the event loop; sampled ten times a second.', LAG, []),
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof CATALOGUE;

/** Metrics of processes have no prefix, because dashboards rely on their names for processes of all kinds. */
export function fullName(name: MetricName): string {
  return name.startsWith('process_') ? name : `chasqui_${name}`;
}
