/** Metrics of a cloud: kinds, help texts, labels and buckets. */
import type { MetricRow } from '../../metrics/catalogue.js';

const APP = ['org', 'app'];

/** Loading a model takes minutes; waiting for a slot may take less than a millisecond. */
const WAIT_TIMES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const REQUEST_TIMES = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800, 3600];

function row(kind: MetricRow['kind'], help: string, labels: readonly string[] = APP): MetricRow {
  return { kind, help, labels };
}

function histogram(help: string, buckets: readonly number[]): MetricRow {
  return { kind: 'histogram', help, labels: APP, buckets };
}

/** Names without the prefix `chasqui_`. */
export const CLOUD_CATALOGUE = {
  app_requests_total: row('counter', 'Finished requests, by HTTP status.', [...APP, 'status']),
  app_prompt_tokens_total: row('counter', 'Prompt tokens, as reported by the runners.'),
  app_cached_tokens_total: row('counter', "Prompt tokens from a runner's cache."),
  app_completion_tokens_total: row('counter', 'Completion tokens.'),
  app_wait_seconds: histogram('Wait for a runner, including cold starts.', WAIT_TIMES),
  app_first_byte_seconds: histogram('Time from a request to the first byte of its completion.', WAIT_TIMES),
  app_request_seconds: histogram('Time from a request to the end of its reply.', REQUEST_TIMES),
  app_requests_running: row('gauge', 'Requests at runners.'),
  app_requests_waiting: row('gauge', 'Requests waiting for a runner.'),
  app_queue_length: row('gauge', 'Stored requests that wait in the queue (`/queue`).'),
  app_queue_limit: row('gauge', 'Maximum number of waiting requests.'),
  app_runners: row('gauge', 'Runners, by state: loading, warming, ready, draining.', [...APP, 'state']),
  app_runner_memory_bytes: row('gauge', 'Estimated memory of the runners.'),
  app_runner_starts_total: row('counter', 'Started runners since this process started.'),
  app_runner_crashes_total: row('counter', 'Crashed runners since this process started.'),
  app_failed: row('gauge', '1 if all requests are refused because the app cannot start, otherwise 0.'),
  runners_memory_limit_bytes: row('gauge', 'Memory limit of all runners together.', []),
} as const satisfies Record<string, MetricRow>;

export type CloudMetricName = keyof typeof CLOUD_CATALOGUE;
