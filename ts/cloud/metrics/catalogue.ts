/** The metrics of a cloud that are its own, with their kinds, help texts, labels and buckets. */
import type { MetricRow } from '../../metrics/catalogue.js';

const APP = ['org', 'app'];

/** Waiting for a model to load takes minutes, and for a place less than a millisecond. */
const WAITING = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const LASTING = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800, 3600];

function row(kind: MetricRow['kind'], help: string, labels: readonly string[] = APP): MetricRow {
  return { kind, help, labels };
}

function histogram(help: string, buckets: readonly number[]): MetricRow {
  return { kind: 'histogram', help, labels: APP, buckets };
}

/** Names without the prefix `chasqui_`. */
export const CLOUD_CATALOGUE = {
  app_requests_total: row('counter', 'Requests that were let in and are over, by the status of their replies.', [
    ...APP,
    'status',
  ]),
  app_prompt_tokens_total: row('counter', 'Tokens of prompts, as runners report them.'),
  app_cached_tokens_total: row('counter', 'Tokens of prompts that a runner had computed before.'),
  app_completion_tokens_total: row('counter', 'Tokens of completions.'),
  app_wait_seconds: histogram('Time that a request waited for a place at a runner, cold starts included.', WAITING),
  app_first_byte_seconds: histogram('Time from a request to the first byte of its completion.', WAITING),
  app_request_seconds: histogram('Time from a request to the end of its reply.', LASTING),
  app_requests_running: row('gauge', 'Requests that a runner has.'),
  app_requests_waiting: row('gauge', 'Requests that wait for a runner.'),
  app_queue_limit: row('gauge', 'Requests that may wait before others are refused.'),
  app_runners: row('gauge', 'Runners, by state: loading, warming, ready, draining.', [...APP, 'state']),
  app_runner_memory_bytes: row('gauge', 'Memory that the runners are taken to need.'),
  app_runner_starts_total: row('counter', 'Runners that were started, since this process began.'),
  app_runner_crashes_total: row('counter', 'Runners that crashed, since this process began.'),
  app_failed: row('gauge', '1 when all requests are refused because the app cannot start, else 0.'),
  runners_memory_limit_bytes: row('gauge', 'Memory that all runners together may take.', []),
} as const satisfies Record<string, MetricRow>;

export type CloudMetricName = keyof typeof CLOUD_CATALOGUE;
