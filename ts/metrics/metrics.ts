/** Metrics of a server in the Prometheus text format. */
import type { Finish, FinishReason } from '../engine/engine.js';
import type { ErrorCode } from '../errors.js';
import { CATALOGUE, fullName, type MetricName } from './catalogue.js';
import { EngineCounts } from './engine-counts.js';
import { addEngineSamples } from './engine-samples.js';
import { EngineSnapshot, type WatchedEngine } from './engine-snapshot.js';
import { toExposition } from './exposition.js';
import { familiesUnder, type OtherNames, type Totals } from './other-names.js';
import { ProcessSamples, watchEventLoop } from './process-samples.js';
import { type Counter, type CurrentSamples, type Histogram, Registry, toFamilies } from './registry.js';

export interface MetricsOptions {
  /** Also export the metrics under the names of these servers; default none. */
  names?: readonly OtherNames[];
}

export class Metrics {
  readonly #names: readonly OtherNames[];
  readonly #registry = new Registry(CATALOGUE);
  readonly #process = new ProcessSamples();
  readonly #engines = new Set<() => readonly WatchedEngine[]>();
  readonly #snapshots = new WeakMap<WatchedEngine, EngineSnapshot>();
  readonly #counts = new EngineCounts<WatchedEngine>();
  readonly #models = new Map<string, ModelSeries>();

  constructor({ names = [] }: MetricsOptions = {}) {
    this.#names = [...new Set(names)];
  }

  /** Includes the engines that `list` returns at each scrape, until the returned function is called. */
  watchEngines(list: () => readonly WatchedEngine[]): () => void {
    this.#engines.add(list);
    return () => void this.#engines.delete(list);
  }

  /** Measures the event loop until the returned function is called. */
  watchEventLoop(): () => void {
    return watchEventLoop(this.#registry.histogram('event_loop_lag_seconds'));
  }

  modelLoaded(model: string, seconds: number): void {
    this.#registry.histogram('model_load_seconds', model).observe(seconds);
  }

  /** Call this after a restart of a crashed engine. */
  engineRestarted(model: string): void {
    this.#registry.counter('engine_restarts_total', model).add();
  }

  preparationRestarted(model: string): void {
    this.#registry.counter('preparation_restarts_total', model).add();
  }

  requestFailed(code: ErrorCode): void {
    this.#registry.counter('request_failures_total', code).add();
  }

  /** `endpoint` is the path of the route, not of the request, because clients could make up any number of paths. */
  replied(endpoint: string, status: number): void {
    this.#registry.counter('http_requests_total', endpoint, String(status)).add();
  }

  /** Returns the same object for the same name. Hot paths keep it instead of looking it up again. */
  forModel(model: string): ModelSeries {
    const known = this.#models.get(model);
    if (known) return known;
    const series = new ModelSeries(this.#registry, model);
    this.#models.set(model, series);
    return series;
  }

  /** The text of all metrics. Waits at most a second for engines that do not return their counts. */
  async text(): Promise<string> {
    const current: CurrentSamples = new Map();
    const engines = [...this.#present()];
    // Create the series now: Prometheus computes rates only for series that it has seen at 0.
    for (const { model } of engines) this.forModel(model.id);
    const snapshots = await Promise.all(
      engines.map(async (engine) => {
        const snapshot = await this.#snapshotOf(engine).read();
        // Another scrape may have seen meanwhile that the engine was unloaded.
        if (snapshot.stats !== null && this.#present().has(engine)) this.#counts.read(engine, snapshot.stats);
        return { engine, snapshot };
      }),
    );
    for (const { engine, snapshot } of snapshots) addEngineSamples(current, engine.model.id, snapshot);
    this.#process.addTo(current);
    const families = toFamilies(CATALOGUE, fullName, [this.#registry], current);
    const totals = this.#totals(snapshots.flatMap(({ snapshot }) => snapshot.stats ?? []));
    return toExposition([...families, ...this.#names.flatMap((names) => familiesUnder(names, families, totals))]);
  }

  /** Two servers of one process may have the same models. */
  #present(): Set<WatchedEngine> {
    return new Set([...this.#engines].flatMap((list) => list()));
  }

  #snapshotOf(engine: WatchedEngine): EngineSnapshot {
    const known = this.#snapshots.get(engine);
    if (known) return known;
    const snapshot = new EngineSnapshot(engine);
    this.#snapshots.set(engine, snapshot);
    return snapshot;
  }

  #totals(engines: Totals['engines']): Totals {
    const models = [...this.#models.values()];
    const sum = (numberOf: (series: ModelSeries) => number) =>
      models.reduce((total, series) => total + numberOf(series), 0);
    return {
      promptTokens: sum(({ cacheQueries }) => cacheQueries.value),
      cachedTokens: sum(({ cacheHits }) => cacheHits.value),
      generatedTokens: sum(({ generatedTokens }) => generatedTokens.value),
      promptSeconds: sum(({ prefill }) => prefill.sum),
      generationSeconds: sum(({ decode }) => decode.sum),
      longestSequence: Math.max(0, ...models.map(({ longestSequence }) => longestSequence)),
      engines,
      counts: this.#counts.sums(this.#present()),
    };
  }
}

/** Why a completion ended. */
export type FinishedReason = FinishReason | 'abort' | 'error';

/** The series of one model that requests update. They are looked up once, because some are updated with every step. */
export class ModelSeries {
  readonly promptTokens: Counter;
  readonly generatedTokens: Counter;
  readonly cacheQueries: Counter;
  readonly cacheHits: Counter;
  readonly firstToken: Histogram;
  readonly betweenTokens: Histogram;
  readonly prefill: Histogram;
  readonly decode: Histogram;
  readonly whole: Histogram;
  /** The most tokens that a prompt and its completion had together so far. */
  longestSequence = 0;
  readonly #perToken: Histogram;
  readonly #queue: Histogram;
  readonly #inference: Histogram;
  readonly #promptLength: Histogram;
  readonly #completionLength: Histogram;
  readonly #ended: Record<FinishedReason, Counter>;

  constructor(registry: Registry<MetricName>, model: string) {
    this.promptTokens = registry.counter('prompt_tokens_total', model);
    this.generatedTokens = registry.counter('generation_tokens_total', model);
    this.cacheQueries = registry.counter('prefix_cache_queries_total', model);
    this.cacheHits = registry.counter('prefix_cache_hits_total', model);
    this.firstToken = registry.histogram('time_to_first_token_seconds', model);
    this.betweenTokens = registry.histogram('inter_token_latency_seconds', model);
    this.prefill = registry.histogram('request_prefill_time_seconds', model);
    this.decode = registry.histogram('request_decode_time_seconds', model);
    this.whole = registry.histogram('e2e_request_latency_seconds', model);
    this.#perToken = registry.histogram('request_time_per_output_token_seconds', model);
    this.#queue = registry.histogram('request_queue_time_seconds', model);
    this.#inference = registry.histogram('request_inference_time_seconds', model);
    this.#promptLength = registry.histogram('request_prompt_tokens', model);
    this.#completionLength = registry.histogram('request_generation_tokens', model);
    const ended = (reason: FinishedReason) => registry.counter('request_success_total', model, reason);
    this.#ended = { stop: ended('stop'), length: ended('length'), abort: ended('abort'), error: ended('error') };
    registry.counter('engine_restarts_total', model);
    registry.counter('preparation_restarts_total', model);
  }

  /** Call this when a completion reached its end. */
  finished({ reason, promptTokens, cachedTokens, completionTokens, timings }: Finish): void {
    const { queuedMs, promptMs, predictedMs } = timings;
    this.#ended[reason].add();
    this.cacheQueries.add(promptTokens);
    this.cacheHits.add(cachedTokens);
    this.#queue.observe(queuedMs / 1000);
    this.prefill.observe(promptMs / 1000);
    this.decode.observe(predictedMs / 1000);
    this.#inference.observe((promptMs + predictedMs) / 1000);
    if (completionTokens > 1) this.#perToken.observe(predictedMs / 1000 / (completionTokens - 1));
    this.#promptLength.observe(promptTokens);
    this.#completionLength.observe(completionTokens);
    this.longestSequence = Math.max(this.longestSequence, promptTokens + completionTokens);
  }

  /** Call this for completions that did not reach their end. */
  unfinished(count: number, reason: 'abort' | 'error'): void {
    this.#ended[reason].add(count);
  }
}
