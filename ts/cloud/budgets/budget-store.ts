/** Budgets and their alerts, in the database of the cloud. Times are milliseconds since 1970. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../store/database.js';
import type { CallOutcome } from '../webhooks/webhooks.js';

export const UNITS = ['tokens', 'requests'] as const;
export type Unit = (typeof UNITS)[number];
export type Level = 'warning' | 'limit';

/** Maximum per calendar month (UTC). */
export interface Budget {
  org: string;
  /** Empty: all requests to apps of the organisation. */
  keyId: string;
  /** Null: unlimited. */
  tokens: number | null;
  requests: number | null;
  /** Percentage of a limit at which the first alert is sent. */
  warnPercent: number;
  /** Target of alerts: an https URL, or `mailto:` and an address. */
  webhook: string | null;
  /** Whether an unrestricted actor has set it. Then members of the organisation cannot change it. */
  isFixed: boolean;
}

export type BudgetName = Pick<Budget, 'org' | 'keyId'>;

export interface Alert extends BudgetName {
  id: string;
  /** For example `2026-11`. */
  month: string;
  unit: Unit;
  level: Level;
  used: number;
  /** The limit when the alert was written. */
  budget: number;
  at: number;
  webhook: string | null;
  /** Next attempt of the webhook; null: none. */
  due: number | null;
  attempts: number;
  /** The last failure of the webhook. */
  error: string | null;
}

interface BudgetRow extends Omit<Budget, 'isFixed'> {
  isFixed: number;
}

const STEPS = [
  `CREATE TABLE budgets (
    org TEXT NOT NULL,
    key_id TEXT NOT NULL,
    tokens INTEGER,
    requests INTEGER,
    warn_percent INTEGER NOT NULL,
    webhook TEXT,
    is_fixed INTEGER NOT NULL,
    PRIMARY KEY (org, key_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE budget_alerts (
    id TEXT PRIMARY KEY,
    org TEXT NOT NULL,
    key_id TEXT NOT NULL,
    month TEXT NOT NULL,
    unit TEXT NOT NULL,
    level TEXT NOT NULL,
    used INTEGER NOT NULL,
    budget INTEGER NOT NULL,
    at INTEGER NOT NULL,
    webhook TEXT,
    due INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    UNIQUE (org, key_id, month, unit, level)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX budget_alerts_by_due ON budget_alerts (due) WHERE due IS NOT NULL;`,
];

const BUDGET_COLUMNS =
  'org, key_id AS keyId, tokens, requests, warn_percent AS warnPercent, webhook, is_fixed AS isFixed';
const ALERT_COLUMNS = 'id, org, key_id AS keyId, month, unit, level, used, budget, at, webhook, due, attempts, error';
const KEPT_ALERTS_MS = 400 * 86_400_000;

export class BudgetStore {
  constructor(private readonly database: Database) {
    database.migrate('budgets', STEPS);
  }

  list(): Budget[] {
    const rows = this.database.all<BudgetRow>(`SELECT ${BUDGET_COLUMNS} FROM budgets ORDER BY org, key_id`);
    return rows.map(({ isFixed, ...row }) => ({ ...row, isFixed: isFixed === 1 }));
  }

  /** Also deletes the alerts of this month: the new limits have their own. */
  set({ org, keyId, tokens, requests, warnPercent, webhook, isFixed }: Budget, month: string): void {
    this.database.transaction(() => {
      this.database.run('INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?, ?, ?, ?)', [
        ...[org, keyId, tokens, requests, warnPercent, webhook],
        Number(isFixed),
      ]);
      this.database.run('DELETE FROM budget_alerts WHERE org = ? AND key_id = ? AND month = ?', [org, keyId, month]);
    });
  }

  remove({ org, keyId }: BudgetName): boolean {
    this.database.run('DELETE FROM budget_alerts WHERE org = ? AND key_id = ?', [org, keyId]);
    return this.database.run('DELETE FROM budgets WHERE org = ? AND key_id = ?', [org, keyId]) > 0;
  }

  /** Writes at most one alert per budget, month, unit and level. */
  addAlert(alert: Omit<Alert, 'id' | 'due' | 'attempts' | 'error'>): void {
    const { org, keyId, month, unit, level, used, budget, at, webhook } = alert;
    this.database.run(
      `INSERT OR IGNORE INTO budget_alerts (id, org, key_id, month, unit, level, used, budget, at, webhook, due)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, iif(?10 IS NULL, NULL, ?9))`,
      [randomBytes(16).toString('hex'), org, keyId, month, unit, level, used, budget, at, webhook],
    );
    this.database.run('DELETE FROM budget_alerts WHERE at < ?', [at - KEPT_ALERTS_MS]);
  }

  alerts({ org, keyId }: BudgetName, month: string): Alert[] {
    const sql = `SELECT ${ALERT_COLUMNS} FROM budget_alerts WHERE org = ? AND key_id = ? AND month = ? ORDER BY at, level DESC`;
    return this.database.all(sql, [org, keyId, month]);
  }

  dueAlert(exceptOrgs: readonly string[], exceptIds: readonly string[], now = Date.now()): Alert | undefined {
    const sql = `SELECT ${ALERT_COLUMNS} FROM budget_alerts WHERE due <= ?
      AND org NOT IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(?))
      ORDER BY due LIMIT 1`;
    return this.database.get(sql, [now, JSON.stringify(exceptOrgs), JSON.stringify(exceptIds)]);
  }

  called(id: string, { error, due }: CallOutcome): void {
    const sql = 'UPDATE budget_alerts SET attempts = attempts + 1, error = ?, due = ? WHERE id = ?';
    this.database.run(sql, [error, due, id]);
  }

  /** Usage since the start of a month, per organisation and key. `total()` cannot overflow, unlike `sum()`. */
  usageSince(hour: number): (Record<Unit, number> & BudgetName)[] {
    return this.database.all(
      `SELECT org, key_id AS keyId, total(requests) AS requests,
         total(prompt_tokens) + total(completion_tokens) AS tokens
       FROM usage_hourly WHERE hour >= ? GROUP BY org, key_id`,
      [hour],
    );
  }
}
