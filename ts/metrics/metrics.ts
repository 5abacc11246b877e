/** Metrics of a server in the Prometheus text format. */
import type { ErrorCode } from '../errors.js';
import { CATALOGUE, fullName } from './catalogue.js';
import { addEngineSamples } from './engine-samples.js';
import { EngineSnapshot, type WatchedEngine } from './engine-snapshot.js';
import { toExposition } from './exposition.js';
import { ModelSeries } from './model-series.js';
import { familiesUnder, type OtherNames, type Totals } from './other-names.js';
import { ProcessSamples, watchEventLoop } from './process-samples.js';
import { type CurrentSamples, Registry, toFamilies } from './registry.js';

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

  /** Call this after a restart of the preparation process of a model. */
  preparationRestarted(model: string): void {
    this.#registry.counter('preparation_restarts_total', model).add();
  }

  /** Call this when a request fails. */
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

  /** The text of all metrics. Waits at most 50 ms for engines that do not return their counts. */
  async text(): Promise<string> {
    const current: CurrentSamples = new Map();
    // Two servers of one process may have the same models.
    const engines = [...new Set([...this.#engines].flatMap((list) => list()))];
    // Create the series now: Prometheus computes rates only for series that it has seen at 0.
    for (const { model } of engines) this.forModel(model.id);
    const snapshots = await Promise.all(
      engines.map(async (engine) => ({ engine, snapshot: await this.#snapshotOf(engine).read() })),
    );
    for (const { engine, snapshot } of snapshots) addEngineSamples(current, engine.model.id, snapshot);
    this.#process.addTo(current);
    const families = toFamilies(CATALOGUE, fullName, [this.#registry], current);
    const totals = this.#totals(snapshots.flatMap(({ snapshot }) => snapshot.stats ?? []));
    return toExposition([...families, ...this.#names.flatMap((names) => familiesUnder(names, families, totals))]);
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
    };
  }
}
