/** The measurements of a cloud, and their text for Prometheus. */
import { CATALOGUE, fullName, type MetricName, type MetricRow } from '../../metrics/catalogue.js';
import { type Family, type Sample, toExposition } from '../../metrics/exposition.js';
import { ProcessSamples, watchEventLoop } from '../../metrics/process-samples.js';
import type { CurrentSamples } from '../../metrics/registry.js';
import { Counter, Histogram, SeriesByLabels } from '../../metrics/series.js';
import type { TimedUsage, UsageSink } from '../gateway/usage.js';
import { CLOUD_CATALOGUE, type CloudMetricName } from './catalogue.js';

/** An app as it is at the moment of a scrape. */
export interface MeasuredApp {
  readonly org: string;
  readonly name: string;
  readonly running: number;
  readonly waiting: number;
  readonly queueLimit: number;
  /** How many runners there are, by state. */
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
}

/** What the reader of a scrape may see. */
export interface Sight {
  /** Whether the process and the memory of all runners are shown. */
  readonly all: boolean;
  app(org: string, app: string): boolean;
}

type Samples = Map<CloudMetricName, Sample[]>;

export class CloudMetrics implements UsageSink {
  readonly #look: () => MeasuredCloud;
  readonly #process = new ProcessSamples();
  readonly #lag = histogram(CATALOGUE.event_loop_lag_seconds);
  readonly #stop = watchEventLoop(this.#lag);
  readonly #apps = new Map<string, AppSeries>();

  /** `look` is called for each scrape. */
  constructor(look: () => MeasuredCloud) {
    this.#look = look;
  }

  add(use: TimedUsage): void {
    this.#seriesOf(use.org, use.app).add(use);
  }

  text(sight: Sight): string {
    const { apps, memoryLimitBytes } = this.#look();
    this.#forgetAllBut(apps);
    const samples: Samples = new Map();
    for (const series of this.#apps.values()) if (sight.app(series.org, series.app)) series.addTo(samples);
    for (const app of apps) if (sight.app(app.org, app.name)) addApp(samples, app);
    if (sight.all) samples.set('runners_memory_limit_bytes', [{ labels: {}, value: memoryLimitBytes }]);
    return toExposition([...familiesOf(samples), ...(sight.all ? this.#processFamilies() : [])]);
  }

  close(): void {
    this.#stop();
  }

  /** After the first `MAX_APPS` all further apps share the series of one that is called `other`. */
  #seriesOf(org: string, app: string): AppSeries {
    const key = keyOf(org, app);
    const known = this.#apps.get(key);
    if (known) return known;
    if (this.#apps.size >= MAX_APPS && key !== OTHERS) return this.#seriesOf(OTHER, OTHER);
    const series = new AppSeries(org, app);
    this.#apps.set(key, series);
    return series;
  }

  /** The series of apps that were deleted make room; here, because requests may be counted after their app is gone. */
  #forgetAllBut(apps: readonly MeasuredApp[]): void {
    const there = new Set([OTHERS, ...apps.map(({ org, name }) => keyOf(org, name))]);
    for (const key of this.#apps.keys()) if (!there.has(key)) this.#apps.delete(key);
  }

  #processFamilies(): Family[] {
    const current: CurrentSamples = new Map([['event_loop_lag_seconds', this.#lag.samples({})]]);
    this.#process.addTo(current);
    return Array.from(current, ([name, samples]) => toFamily(fullName(name as MetricName), CATALOGUE[name], samples));
  }
}

const MAX_APPS = 1000;
const OTHER = 'other';
const OTHERS = keyOf(OTHER, OTHER);

function keyOf(org: string, app: string): string {
  return `${org}/${app}`;
}

/** What the requests of one app were. */
class AppSeries {
  readonly #requests = counters('app_requests_total');
  readonly #tokens = {
    app_prompt_tokens_total: counters('app_prompt_tokens_total'),
    app_cached_tokens_total: counters('app_cached_tokens_total'),
    app_completion_tokens_total: counters('app_completion_tokens_total'),
  };
  readonly #times = {
    app_wait_seconds: histograms('app_wait_seconds'),
    app_first_byte_seconds: histograms('app_first_byte_seconds'),
    app_request_seconds: histograms('app_request_seconds'),
  };

  constructor(
    readonly org: string,
    readonly app: string,
  ) {}

  add({ status, ms, waitedMs, firstByteMs, ...tokens }: TimedUsage): void {
    const { org, app } = this;
    this.#requests.with(org, app, String(status)).add();
    this.#tokens.app_prompt_tokens_total.with(org, app).add(tokens.promptTokens);
    this.#tokens.app_cached_tokens_total.with(org, app).add(tokens.cachedTokens);
    this.#tokens.app_completion_tokens_total.with(org, app).add(tokens.completionTokens);
    if (waitedMs !== null) this.#times.app_wait_seconds.with(org, app).observe(waitedMs / 1000);
    if (firstByteMs !== null) this.#times.app_first_byte_seconds.with(org, app).observe(firstByteMs / 1000);
    this.#times.app_request_seconds.with(org, app).observe(ms / 1000);
  }

  addTo(samples: Samples): void {
    addSamples(samples, 'app_requests_total', this.#requests.samples());
    for (const [name, series] of Object.entries({ ...this.#tokens, ...this.#times })) {
      addSamples(samples, name as CloudMetricName, series.samples());
    }
  }
}

function addSamples(samples: Samples, name: CloudMetricName, added: readonly Sample[]): void {
  const known = samples.get(name);
  if (known) known.push(...added);
  else samples.set(name, [...added]);
}

function addApp(samples: Samples, app: MeasuredApp): void {
  const labels = { org: app.org, app: app.name };
  const add = (name: CloudMetricName, value: number, more: Record<string, string> = {}): void => {
    addSamples(samples, name, [{ labels: { ...labels, ...more }, value }]);
  };
  add('app_requests_running', app.running);
  add('app_requests_waiting', app.waiting);
  add('app_queue_limit', app.queueLimit);
  for (const [state, count] of Object.entries(app.runners)) add('app_runners', count, { state });
  add('app_runner_memory_bytes', app.memoryBytes);
  add('app_runner_starts_total', app.starts);
  add('app_runner_crashes_total', app.crashes);
  add('app_failed', app.hasFailed ? 1 : 0);
}

/** In the catalogue's order. */
function familiesOf(samples: Samples): Family[] {
  return (Object.keys(CLOUD_CATALOGUE) as CloudMetricName[]).map((name) =>
    toFamily(`chasqui_${name}`, CLOUD_CATALOGUE[name], samples.get(name) ?? []),
  );
}

function toFamily(name: string, { kind, help }: MetricRow, samples: readonly Sample[]): Family {
  return { name, kind, help, samples };
}

function counters(name: CloudMetricName): SeriesByLabels<Counter> {
  return new SeriesByLabels(CLOUD_CATALOGUE[name].labels, () => new Counter());
}

function histograms(name: CloudMetricName): SeriesByLabels<Histogram> {
  return new SeriesByLabels(CLOUD_CATALOGUE[name].labels, () => histogram(CLOUD_CATALOGUE[name]));
}

function histogram({ buckets = [] }: MetricRow): Histogram {
  return new Histogram(buckets);
}
