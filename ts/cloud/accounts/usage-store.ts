/** Usage of requests, summed by hour, key and app, and its CSV format. */
import { type ChasquiError, invalidValue } from '../../errors.js';
import type { RequestUsage, UsageSink } from '../gateway/usage.js';
import type { Database } from '../store/database.js';

const HOUR_MS = 3_600_000;
const MAX_PENDING = 10_000;

export interface UsageCounts {
  requests: number;
  /** Requests that ended with an error or were cancelled by the client. */
  failed: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  ms: number;
}

interface Pending extends UsageCounts {
  hour: number;
  /** Empty for requests without a key. */
  keyId: string;
  org: string;
  app: string;
}

export interface UsageRow extends UsageCounts {
  /** Start of the hour or day, in Unix seconds. */
  at: number;
  keyId: string | null;
  org: string;
  app: string;
}

export interface UsageQuery {
  /** Unix seconds. */
  from: number;
  to: number;
  /** Hours per row, aligned to 1970. */
  hours: number;
  org?: string | null;
  app?: string | null;
  keyId?: string | null;
  /** Maximum number of rows; default and upper bound 50,000. */
  limit?: number;
}

const MAX_USAGE_ROWS = 50_000;

export class UsageStore implements UsageSink {
  readonly #pending = new Map<string, Pending>();
  /** Requests that were not counted because writes kept failing. */
  lost = 0;

  constructor(private readonly database: Database) {}

  progress(use: RequestUsage, replaces: RequestUsage | null): void {
    this.add(use, replaces);
  }

  add(use: RequestUsage, replaces: RequestUsage | null = null): void {
    const { keyId, org, app, at } = use;
    const hour = Math.floor(at / HOUR_MS);
    const name = [hour, keyId, org, app].join('/');
    const sum = this.#pending.get(name) ?? { hour, keyId: keyId ?? '', org, app, ...NOTHING };
    if (!this.#pending.has(name) && this.#pending.size >= MAX_PENDING) {
      this.lost++;
      return;
    }
    addTo(sum, use, 1);
    if (replaces !== null) addTo(sum, replaces, -1);
    this.#pending.set(name, sum);
  }

  /** Writes the pending sums. Throws if the write fails; the next flush retries. */
  flush(): void {
    if (this.#pending.size === 0) return;
    this.database.transaction(() => [...this.#pending.values()].forEach((sum) => void this.#write(sum)));
    this.#pending.clear();
  }

  /**
   * Returns rows by time, without those still pending.
   *
   * @throws {ChasquiError} `invalid_value` beyond `limit`, because a truncated list would have wrong sums
   */
  list({ from, to, hours, org = null, app = null, keyId = null, limit = MAX_USAGE_ROWS }: UsageQuery): UsageRow[] {
    const maxRows = Math.min(limit, MAX_USAGE_ROWS);
    const rows = this.database.all<Omit<UsageRow, 'at' | 'keyId'> & { bucket: number; key_id: string }>(
      `SELECT hour / CAST(?3 AS INTEGER) * CAST(?3 AS INTEGER) AS bucket, key_id, org, app, sum(requests) AS requests, sum(failed) AS failed,
        sum(prompt_tokens) AS promptTokens, sum(cached_tokens) AS cachedTokens,
        sum(completion_tokens) AS completionTokens, sum(ms) AS ms
      FROM usage_hourly
      WHERE hour >= ?1 AND hour < ?2 AND (?4 IS NULL OR org = ?4) AND (?5 IS NULL OR app = ?5)
        AND (?6 IS NULL OR key_id = ?6)
      GROUP BY bucket, key_id, org, app ORDER BY bucket, org, app, key_id LIMIT ?7`,
      [Math.floor(from / 3600), Math.ceil(to / 3600), hours, org, app, keyId, maxRows + 1],
    );
    if (rows.length > maxRows) throw tooManyRows(maxRows);
    return rows.map(({ bucket, key_id: keyId, ...counts }) => ({
      at: bucket * 3600,
      keyId: keyId === '' ? null : keyId,
      ...counts,
    }));
  }

  #write({ hour, keyId, org, app, ...counts }: Pending): void {
    const { requests, failed, promptTokens, cachedTokens, completionTokens, ms } = counts;
    this.database.run(
      `INSERT INTO usage_hourly VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (hour, key_id, org, app) DO UPDATE SET requests = requests + excluded.requests,
        failed = failed + excluded.failed, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        cached_tokens = cached_tokens + excluded.cached_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens, ms = ms + excluded.ms`,
      [hour, keyId, org, app, requests, failed, promptTokens, cachedTokens, completionTokens, ms],
    );
  }
}

function addTo(sum: UsageCounts, use: RequestUsage, sign: 1 | -1): void {
  sum.requests += sign;
  if (use.status >= 400) sum.failed += sign;
  for (const field of ['promptTokens', 'cachedTokens', 'completionTokens', 'ms'] as const) {
    sum[field] += sign * wholeNumber(use[field]);
  }
}

const NOTHING: Readonly<UsageCounts> = {
  requests: 0,
  failed: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  ms: 0,
};

function tooManyRows(limit: number): ChasquiError {
  return invalidValue(
    `More than ${limit} rows of usage match. Request a shorter time, days instead of hours, or one organisation, app or key.`,
    'from',
  );
}

/** Runners are not trusted to report valid numbers. */
function wholeNumber(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

const CSV_COLUMNS = [
  'from',
  'key_id',
  'org',
  'app',
  'requests',
  'failed',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
];

/** One line per row, with CRLF line ends. */
export function usageCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map(({ at, keyId, org, app, requests, failed, promptTokens, cachedTokens, completionTokens }) =>
    [
      new Date(at * 1000).toISOString(),
      keyId ?? '',
      cell(org),
      cell(app),
      requests,
      failed,
      promptTokens,
      cachedTokens,
      completionTokens,
    ].join(','),
  );
  return `${[CSV_COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** Quotes a name, and keeps spreadsheets from reading it as a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
