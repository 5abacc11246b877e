/** Points of the last hour, for the plots. */
import type { MetricsPoint } from '../api-types.js';
import type { SqlValue, Store } from './database.js';

const HOUR_MS = 3600 * 1000;
const WRITE_EVERY = 10;
/** One hour of points, in case writes fail. */
const MAX_UNWRITTEN = 3600;

const COLUMNS =
  'at, tokens_per_second AS tokensPerSecond, ttft_p50 AS ttftP50, ttft_p95 AS ttftP95, running, queued, ' +
  'kv_usage AS kvUsage, memory_bytes AS memoryBytes';

export class MetricsHistory {
  #unwritten: MetricsPoint[] = [];
  #added = 0;

  constructor(private readonly store: Store) {}

  add(point: MetricsPoint): void {
    this.#unwritten.push(point);
    if (this.#unwritten.length > MAX_UNWRITTEN) this.#unwritten.shift();
    this.#added += 1;
    if (this.#added % WRITE_EVERY === 0) this.#write();
  }

  /** Oldest first. */
  list(seconds: number): MetricsPoint[] {
    const since = Date.now() - seconds * 1000;
    const sql = `SELECT ${COLUMNS} FROM metrics WHERE at >= ? ORDER BY at`;
    return [...this.store.rows<MetricsPoint>(sql, since), ...this.#unwritten.filter(({ at }) => at >= since)];
  }

  close(): void {
    this.#write();
  }

  /** Keeps the points in memory if the write fails, and retries after ten more. */
  #write(): void {
    if (this.#unwritten.length === 0) return;
    try {
      this.store.transaction(() => {
        for (const point of this.#unwritten) {
          this.store.run('INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?, ?, ?)', ...toValues(point));
        }
        this.store.run('DELETE FROM metrics WHERE at < ?', Date.now() - HOUR_MS);
      });
      this.#unwritten = [];
    } catch {}
  }
}

function toValues(point: MetricsPoint): SqlValue[] {
  const { at, tokensPerSecond, ttftP50, ttftP95, running, queued, kvUsage, memoryBytes } = point;
  return [at, tokensPerSecond, ttftP50, ttftP95, running, queued, kvUsage, memoryBytes];
}

const CSV_HEAD = 'time,tokens_per_second,ttft_p50_ms,ttft_p95_ms,running,queued,kv_usage,memory_bytes';

export function toCsv(points: readonly MetricsPoint[]): string {
  const lines = points.map((point) => {
    const [at, ...values] = toValues(point);
    return [new Date(at as number).toISOString(), ...values.map((value) => value ?? '')].join(',');
  });
  return `${[CSV_HEAD, ...lines].join('\n')}\n`;
}
