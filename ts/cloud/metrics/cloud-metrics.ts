/** Metrics of a cloud in the Prometheus text format, and their route. */
import type { FastifyInstance } from 'fastify';
import { CATALOGUE, fullName, type MetricName } from '../../metrics/catalogue.js';
import { EXPOSITION_TYPE, toExposition } from '../../metrics/exposition.js';
import { ProcessSamples, watchEventLoop } from '../../metrics/process-samples.js';
import { type CurrentSamples, Registry, toFamilies } from '../../metrics/registry.js';
import { type Authorize, isWithin } from '../accounts/authorize.js';
import type { TimedUsage, UsageSink } from '../gateway/usage.js';
import { CLOUD_CATALOGUE, type CloudMetricName } from './catalogue.js';

export interface MeasuredApp {
  readonly org: string;
  readonly name: string;
  readonly running: number;
  readonly waiting: number;
  readonly queueLimit: number;
  readonly runners: Readonly<Record<RunnerStateLabel, number>>;
  readonly memoryBytes: number;
  readonly starts: number;
  readonly crashes: number;
  readonly hasFailed: boolean;
}

export type RunnerStateLabel = 'loading' | 'warming' | 'ready' | 'draining';

export interface MeasuredCloud {
  readonly apps: readonly MeasuredApp[];
  readonly memoryLimitBytes: number;
  /** Apps with stored requests. */
  readonly queues: readonly { org: string; app: string; count: number }[];
}

/** The reach of the key of a scrape. */
export interface Visibility {
  /** Whether to include metrics of the process and of all runners. */
  readonly all: boolean;
  app(org: string, app: string): boolean;
}

const MAX_APPS = 1000;
const OTHER = 'other';

interface AppSeries {
  readonly org: string;
  readonly app: string;
  readonly registry: Registry<CloudMetricName>;
}

export class CloudMetrics implements Pick<UsageSink, 'add'> {
  readonly #process = new ProcessSamples();
  readonly #processRegistry = new Registry<MetricName>(CATALOGUE);
  readonly #stop = watchEventLoop(this.#processRegistry.histogram('event_loop_lag_seconds'));
  readonly #apps = new Map<string, AppSeries>();

  constructor(private readonly measure: () => MeasuredCloud) {}

  add({ org, app, status, ms, waitedMs, firstByteMs, ...tokens }: TimedUsage): void {
    const series = this.#seriesOf(org, app);
    const labels = [series.org, series.app] as const;
    const { registry } = series;
    registry.counter('app_requests_total', ...labels, String(status)).add();
    registry.counter('app_prompt_tokens_total', ...labels).add(tokens.promptTokens);
    registry.counter('app_cached_tokens_total', ...labels).add(tokens.cachedTokens);
    registry.counter('app_completion_tokens_total', ...labels).add(tokens.completionTokens);
    if (waitedMs !== null) registry.histogram('app_wait_seconds', ...labels).observe(waitedMs / 1000);
    if (firstByteMs !== null) registry.histogram('app_first_byte_seconds', ...labels).observe(firstByteMs / 1000);
    registry.histogram('app_request_seconds', ...labels).observe(ms / 1000);
  }

  text(visibility: Visibility): string {
    const { apps, memoryLimitBytes, queues } = this.measure();
    this.#dropDeleted(apps);
    const visible = [...this.#apps.values()].filter(({ org, app }) => visibility.app(org, app));
    const current: CurrentSamples<CloudMetricName> = new Map();
    const lengths = new Map(queues.map(({ org, app, count }) => [keyOf(org, app), count]));
    for (const app of apps)
      if (visibility.app(app.org, app.name)) addGauges(current, app, lengths.get(keyOf(app.org, app.name)) ?? 0);
    if (visibility.all) current.set('runners_memory_limit_bytes', [{ labels: {}, value: memoryLimitBytes }]);
    const registries = visible.map(({ registry }) => registry);
    const families = toFamilies(CLOUD_CATALOGUE, (name) => `chasqui_${name}`, registries, current);
    return toExposition([...families, ...(visibility.all ? this.#processFamilies() : [])]);
  }

  close(): void {
    this.#stop();
  }

  /** Bounds the label cardinality: apps beyond `MAX_APPS` share the series `other`. */
  #seriesOf(org: string, app: string): AppSeries {
    const key = keyOf(org, app);
    const known = this.#apps.get(key);
    if (known) return known;
    if (this.#apps.size >= MAX_APPS && key !== OTHERS) return this.#seriesOf(OTHER, OTHER);
    const series = { org, app, registry: new Registry(CLOUD_CATALOGUE) };
    this.#apps.set(key, series);
    return series;
  }

  /** Drops the series of deleted apps. Runs at a scrape, because requests may be counted after the deletion of their app. */
  #dropDeleted(apps: readonly MeasuredApp[]): void {
    const existing = new Set([OTHERS, ...apps.map(({ org, name }) => keyOf(org, name))]);
    for (const key of this.#apps.keys()) if (!existing.has(key)) this.#apps.delete(key);
  }

  #processFamilies() {
    const current: CurrentSamples = new Map();
    this.#process.addTo(current);
    return toFamilies(CATALOGUE, fullName, [this.#processRegistry], current);
  }
}

const OTHERS = keyOf(OTHER, OTHER);

function keyOf(org: string, app: string): string {
  return `${org}/${app}`;
}

function addGauges(current: CurrentSamples<CloudMetricName>, app: MeasuredApp, queueLength: number): void {
  const add = (name: CloudMetricName, value: number, more: Record<string, string> = {}): void => {
    const samples = current.get(name) ?? [];
    samples.push({ labels: { org: app.org, app: app.name, ...more }, value });
    current.set(name, samples);
  };
  add('app_requests_running', app.running);
  add('app_requests_waiting', app.waiting);
  add('app_queue_length', queueLength);
  add('app_queue_limit', app.queueLimit);
  for (const [state, count] of Object.entries(app.runners)) add('app_runners', count, { state });
  add('app_runner_memory_bytes', app.memoryBytes);
  add('app_runner_starts_total', app.starts);
  add('app_runner_crashes_total', app.crashes);
  add('app_failed', app.hasFailed ? 1 : 0);
}

/**
 * `GET /metrics` for keys with the scope `read`: the apps within the key's reach, and for unrestricted keys also the
 * process.
 */
export function metricsRoute(
  api: FastifyInstance,
  { metrics, authorize }: { metrics: CloudMetrics; authorize: Authorize },
): void {
  api.get('/metrics', async (request, reply) => {
    const actor = authorize(request);
    const text = metrics.text({ all: isWithin({}, actor), app: (org, app) => isWithin({ org, app }, actor) });
    return reply.type(EXPOSITION_TYPE).header('cache-control', 'no-store').send(text);
  });
}
