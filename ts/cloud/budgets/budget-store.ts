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
  /** URL that receives alerts. */
  webhook: string | null;
  /** Address that receives alerts. */
  email: string | null;
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
}

/** The sending of an alert to one target. */
export interface Delivery {
  id: string;
  alert: string;
  /** An https URL, or `mailto:` and an address. */
  target: string;
  /** Next attempt; null: none. */
  due: number | null;
  attempts: number;
  /** The last failure. */
  error: string | null;
}

export type DeliveredAlert = Alert & { deliveries: readonly Delivery[] };

interface BudgetRow extends Omit<Budget, 'isFixed'> {
  isFixed: number;
}

export const STEPS = [
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
  `ALTER TABLE budgets ADD COLUMN email TEXT;
  UPDATE budgets SET email = substr(webhook, 8), webhook = NULL WHERE webhook LIKE 'mailto:%';

  CREATE TABLE budget_deliveries (
    id TEXT PRIMARY KEY,
    alert TEXT NOT NULL REFERENCES budget_alerts (id) ON DELETE CASCADE,
    target TEXT NOT NULL,
    due INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX budget_deliveries_by_alert ON budget_deliveries (alert);
  CREATE INDEX budget_deliveries_by_due ON budget_deliveries (due) WHERE due IS NOT NULL;
  INSERT INTO budget_deliveries
    SELECT id, id, webhook, due, attempts, error FROM budget_alerts WHERE webhook IS NOT NULL;

  DROP INDEX budget_alerts_by_due;
  ALTER TABLE budget_alerts DROP COLUMN webhook;
  ALTER TABLE budget_alerts DROP COLUMN due;
  ALTER TABLE budget_alerts DROP COLUMN attempts;
  ALTER TABLE budget_alerts DROP COLUMN error;`,
];

const BUDGET_COLUMNS =
  'org, key_id AS keyId, tokens, requests, warn_percent AS warnPercent, webhook, email, is_fixed AS isFixed';
const ALERT_COLUMNS = 'id, org, key_id AS keyId, month, unit, level, used, budget, at';
const MAIL = 'mailto:';
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
  set({ org, keyId, tokens, requests, warnPercent, webhook, email, isFixed }: Budget, month: string): void {
    this.database.transaction(() => {
      this.database.run(
        `INSERT OR REPLACE INTO budgets (org, key_id, tokens, requests, warn_percent, webhook, email, is_fixed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        [org, keyId, tokens, requests, warnPercent, webhook, email, Number(isFixed)],
      );
      this.database.run('DELETE FROM budget_alerts WHERE org = ? AND key_id = ? AND month = ?', [org, keyId, month]);
    });
  }

  remove({ org, keyId }: BudgetName): boolean {
    this.database.run('DELETE FROM budget_alerts WHERE org = ? AND key_id = ?', [org, keyId]);
    return this.database.run('DELETE FROM budgets WHERE org = ? AND key_id = ?', [org, keyId]) > 0;
  }

  /** Writes at most one alert per budget, month, unit and level. */
  addAlert(alert: Omit<Alert, 'id'>, { webhook, email }: Pick<Budget, 'webhook' | 'email'>): void {
    const { org, keyId, month, unit, level, used, budget, at } = alert;
    this.database.transaction(() => {
      const id = newId();
      const added = this.database.run(
        `INSERT OR IGNORE INTO budget_alerts (id, org, key_id, month, unit, level, used, budget, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        [id, org, keyId, month, unit, level, used, budget, at],
      );
      const targets = added === 0 ? [] : [webhook, email && MAIL + email].filter((each) => each !== null);
      for (const target of targets) {
        const sql = 'INSERT INTO budget_deliveries (id, alert, target, due) VALUES (?, ?, ?, ?)';
        this.database.run(sql, [newId(), id, target, at]);
      }
      this.database.run('DELETE FROM budget_alerts WHERE at < ?', [at - KEPT_ALERTS_MS]);
    });
  }

  alerts({ org, keyId }: BudgetName, month: string): DeliveredAlert[] {
    const sql = `SELECT ${ALERT_COLUMNS} FROM budget_alerts WHERE org = ? AND key_id = ? AND month = ? ORDER BY at, level DESC`;
    return this.database.all<Alert>(sql, [org, keyId, month]).map((alert) => {
      const deliveries = this.database.all<Delivery>('SELECT * FROM budget_deliveries WHERE alert = ?', [alert.id]);
      return { ...alert, deliveries };
    });
  }

  dueDelivery(
    exceptOrgs: readonly string[],
    exceptIds: readonly string[],
    now = Date.now(),
  ): { delivery: Delivery; alert: Alert } | undefined {
    const sql = `SELECT budget_deliveries.* FROM budget_deliveries JOIN budget_alerts ON budget_alerts.id = alert
      WHERE due <= ? AND org NOT IN (SELECT value FROM json_each(?))
        AND budget_deliveries.id NOT IN (SELECT value FROM json_each(?)) ORDER BY due LIMIT 1`;
    const delivery = this.database.get<Delivery>(sql, [now, JSON.stringify(exceptOrgs), JSON.stringify(exceptIds)]);
    if (delivery === undefined) return undefined;
    const found = `SELECT ${ALERT_COLUMNS} FROM budget_alerts WHERE id = ?`;
    return { delivery, alert: this.database.get<Alert>(found, [delivery.alert]) as Alert };
  }

  called(id: string, { error, due }: CallOutcome): void {
    const sql = 'UPDATE budget_deliveries SET attempts = attempts + 1, error = ?, due = ? WHERE id = ?';
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

/** Returns the e-mail address of a target, or null for a webhook. */
export function addressOf({ target }: Pick<Delivery, 'target'>): string | null {
  return target.startsWith(MAIL) ? target.slice(MAIL.length) : null;
}

function newId(): string {
  return randomBytes(16).toString('hex');
}
