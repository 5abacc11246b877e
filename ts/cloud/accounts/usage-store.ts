/** What requests have used, summed per hour, key and app. */
import { ChasquiError } from '../../errors.js';
import type { RequestUsage, UsageSink } from '../gateway/usage.js';
import type { Database } from '../store/database.js';

const HOUR_MS = 3_600_000;
/** More sums than this are not held in memory. */
const MAX_PENDING = 10_000;

export interface UsageCounts {
  requests: number;
  /** Those of the requests that ended with an error, or whose client left. */
  failed: number;
  promptTokens: number;
  /** Those of the prompt tokens that did not have to be computed. */
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
  /** Unix seconds at which the hour or day begins. */
  at: number;
  keyId: string | null;
  org: string;
  app: string;
}

export interface UsageQuery {
  /** Unix seconds. */
  from: number;
  to: number;
  /** How many hours a row sums up, counted from 1970 on. */
  hours: number;
  org?: string | null;
  app?: string | null;
  keyId?: string | null;
  /** How many rows there may be; default and maximum 50,000. */
  limit?: number;
}

const MAX_USAGE_ROWS = 50_000;

export class UsageStore implements UsageSink {
  readonly #database: Database;
  readonly #pending = new Map<string, Pending>();
  /** Requests that could not be counted, because the file could not be written for long. */
  lost = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  add({ keyId, org, app, at, promptTokens, completionTokens, cachedTokens, status, ms }: RequestUsage): void {
    const hour = Math.floor(at / HOUR_MS);
    const name = [hour, keyId, org, app].join('/');
    const sum = this.#pending.get(name) ?? { hour, keyId: keyId ?? '', org, app, ...NOTHING };
    if (!this.#pending.has(name) && this.#pending.size >= MAX_PENDING) {
      this.lost++;
      return;
    }
    sum.requests++;
    if (status >= 400) sum.failed++;
    sum.promptTokens += wholeNumber(promptTokens);
    sum.cachedTokens += wholeNumber(cachedTokens);
    sum.completionTokens += wholeNumber(completionTokens);
    sum.ms += wholeNumber(ms);
    this.#pending.set(name, sum);
  }

  /** Writes down what was added since. Throws when it cannot; then nothing is forgotten, and the next time tries again. */
  flush(): void {
    if (this.#pending.size === 0) return;
    this.#database.transaction(() => {
      for (const sum of this.#pending.values()) this.#write(sum);
    });
    this.#pending.clear();
  }

  /**
   * In the order of time. What was added in the last seconds is not in it.
   * @throws {ChasquiError} `invalid_value` where there are more rows than that, of which a part would have wrong sums
   */
  list({ from, to, hours, org = null, app = null, keyId = null, limit = MAX_USAGE_ROWS }: UsageQuery): UsageRow[] {
    const maxRows = Math.min(limit, MAX_USAGE_ROWS);
    const rows = this.#database.all<Record<string, number> & { key_id: string; org: string; app: string }>(
      `SELECT hour / CAST(?3 AS INTEGER) * CAST(?3 AS INTEGER) AS bucket, key_id, org, app, sum(requests) AS requests, sum(failed) AS failed,
        sum(prompt_tokens) AS prompt, sum(cached_tokens) AS cached, sum(completion_tokens) AS completion, sum(ms) AS ms
      FROM usage_hourly
      WHERE hour >= ?1 AND hour < ?2 AND (?4 IS NULL OR org = ?4) AND (?5 IS NULL OR app = ?5)
        AND (?6 IS NULL OR key_id = ?6)
      GROUP BY bucket, key_id, org, app ORDER BY bucket, org, app, key_id LIMIT ?7`,
      [...[Math.floor(from / 3600), Math.ceil(to / 3600), hours, org, app, keyId], maxRows + 1],
    );
    if (rows.length > maxRows) throw tooManyRows(maxRows);
    return rows.map((row) => ({
      ...{
        at: (row.bucket as number) * 3600,
        keyId: row.key_id === '' ? null : row.key_id,
        org: row.org,
        app: row.app,
      },
      ...{ requests: row.requests as number, failed: row.failed as number, promptTokens: row.prompt as number },
      ...{ cachedTokens: row.cached as number, completionTokens: row.completion as number, ms: row.ms as number },
    }));
  }

  #write({ hour, keyId, org, app, ...counts }: Pending): void {
    const { requests, failed, promptTokens, cachedTokens, completionTokens, ms } = counts;
    this.#database.run(
      `INSERT INTO usage_hourly VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (hour, key_id, org, app) DO UPDATE SET requests = requests + excluded.requests,
        failed = failed + excluded.failed, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        cached_tokens = cached_tokens + excluded.cached_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens, ms = ms + excluded.ms`,
      [hour, keyId, org, app, requests, failed, promptTokens, cachedTokens, completionTokens, ms],
    );
  }
}

const NOTHING: Readonly<UsageCounts> = {
  ...{ requests: 0, failed: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, ms: 0 },
};

function tooManyRows(limit: number): ChasquiError {
  return new ChasquiError(
    'invalid_value',
    `There are more than ${limit} rows of usage in this time: ask for a shorter one, for days instead of hours, or for ` +
      'one organisation, app or key.',
    'from',
  );
}

/** What a runner reports is not trusted to be a number that sums well. */
function wholeNumber(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
