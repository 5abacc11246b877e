/** Records one point per second for the plots. */
import { EngineSnapshot } from '../metrics/engine-snapshot.js';
import type { ModelEntry, ModelPool } from '../models/pool.js';
import { ownResidentBytes, residentBytesOf } from '../process/process-usage.js';
import type { MetricsPoint } from './api-types.js';
import type { EventBus } from './event-bus.js';
import type { RequestTable } from './request-table.js';
import type { MetricsHistory } from './store/metrics-history.js';

const EVERY_MS = 1000;

export class MetricsClock {
  readonly #snapshots = new WeakMap<object, EngineSnapshot>();
  readonly #timer: NodeJS.Timeout;
  #tokens = 0;
  #at = performance.now();
  #wasIdle = false;

  constructor(
    private readonly pool: ModelPool,
    private readonly requests: RequestTable,
    private readonly history: MetricsHistory,
    private readonly events: EventBus,
  ) {
    this.#timer = setInterval(() => void this.#tick(), EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #tick(): Promise<void> {
    const point = await this.#measure();
    this.events.publish('metrics', point);
    // Skip idle points, except the first and last.
    const isIdle = point.tokensPerSecond === 0 && point.running === 0 && point.queued === 0 && point.ttftP50 === null;
    if (!isIdle || !this.#wasIdle) this.history.add(point);
    this.#wasIdle = isIdle;
  }

  async #measure(): Promise<MetricsPoint> {
    const entries = this.pool.list();
    const stats = await Promise.all(entries.map((entry) => this.#statsOf(entry)));
    const sum = (count: (each: NonNullable<(typeof stats)[number]>) => number) =>
      stats.reduce((all, each) => all + (each === null ? 0 : count(each)), 0);
    const waiting = entries.reduce((all, entry) => all + entry.waiting, 0);
    const times = this.requests.recentFirstTokens();
    const cells = sum(({ kvCellsTotal }) => kvCellsTotal);
    return {
      at: Date.now(),
      tokensPerSecond: this.#speed(),
      ttftP50: percentile(times, 0.5),
      ttftP95: percentile(times, 0.95),
      running: sum(({ active }) => active),
      queued: sum(({ queued }) => queued) + waiting,
      kvUsage: cells === 0 ? 0 : Math.round((sum(({ kvCellsUsed }) => kvCellsUsed) * 1000) / cells) / 1000,
      memoryBytes: memoryOf(entries),
    };
  }

  async #statsOf({ engine }: ModelEntry) {
    if (engine === null) return null;
    const snapshot = this.#snapshots.get(engine) ?? new EngineSnapshot(engine);
    this.#snapshots.set(engine, snapshot);
    return (await snapshot.read()).stats;
  }

  #speed(): number {
    const [tokens, now] = [this.requests.generatedTokens, performance.now()];
    const speed = ((tokens - this.#tokens) * 1000) / (now - this.#at);
    [this.#tokens, this.#at] = [tokens, now];
    return Math.round(speed * 10) / 10;
  }
}

function memoryOf(entries: readonly ModelEntry[]): number {
  const engines = entries.map(({ pid, preparationPid, memoryBytes }) => {
    const residentBytes = residentBytesOf(pid);
    return residentBytes === null ? (memoryBytes ?? 0) : residentBytes + (residentBytesOf(preparationPid) ?? 0);
  });
  return engines.reduce((sum, bytes) => sum + bytes, ownResidentBytes() ?? 0);
}

function percentile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return value === undefined ? null : Math.round(value);
}
