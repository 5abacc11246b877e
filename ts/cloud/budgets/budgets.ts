/** Enforces budgets, and writes their alerts. */
import { ChasquiError } from '../../errors.js';
import type { Admission } from '../gateway/key-limits.js';
import type { RequestUsage } from '../gateway/usage.js';
import type { Mailer } from '../mail/mailer.js';
import type { Database } from '../store/database.js';
import { type WebhookParts, Webhooks } from '../webhooks/webhooks.js';
import { alertMail } from './alert-mail.js';
import {
  addressOf,
  type Budget,
  type BudgetName,
  BudgetStore,
  type DeliveredAlert,
  type Level,
  UNITS,
  type Unit,
} from './budget-store.js';

export interface BudgetsParts extends Pick<WebhookParts, 'keyOf' | 'hosts' | 'onError'> {
  database: Database;
  mailer?: Mailer | undefined;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const TICK_MS = 1000;
const HOUR_MS = 3_600_000;
/** A request with a larger `max_tokens` does not block all others until its end. */
const MAX_RESERVED_TOKENS = 32_768;
const RESERVED_RETRY_S = 5;
const NO_MAILER = 'this cloud has no SMTP server';

/** Usage of this month by an organisation, or by a key in it. `reserved`: estimates of running requests. */
interface Account {
  used: Record<Unit, number>;
  reserved: Record<Unit, number>;
  budget: Budget | null;
}

export interface BudgetState extends Budget {
  month: string;
  used: Readonly<Record<Unit, number>>;
  alerts: readonly DeliveredAlert[];
}

export class Budgets {
  readonly store: BudgetStore;
  readonly sendsMail: boolean;
  readonly webhooks: Webhooks;
  readonly #accounts = new Map<string, Account>();
  readonly #limited = new Map<string, Account & { budget: Budget }>();
  /** Alerts that are stored. */
  readonly #alerted = new Set<string>();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #month: string;

  constructor({ database, mailer, now = Date.now, ...parts }: BudgetsParts) {
    this.sendsMail = mailer !== undefined;
    this.#now = now;
    this.store = new BudgetStore(database);
    this.webhooks = new Webhooks({
      ...parts,
      source: {
        due: (exceptOrgs, exceptIds) => toCall(this.store.dueDelivery(exceptOrgs, exceptIds), mailer),
        called: (id, outcome) => this.store.called(id, outcome),
      },
    });
    this.#month = monthOf(now());
    for (const { org, keyId, ...used } of this.store.usageSince(Date.parse(this.#month) / HOUR_MS)) {
      for (const name of accountNames(org, keyId)) add(this.#account(name).used, used);
    }
    for (const budget of this.store.list()) this.#limit(budget);
    this.#timer = setInterval(() => {
      try {
        this.tick();
      } catch (error) {
        parts.onError(error);
      }
    }, TICK_MS).unref();
  }

  /** @throws {ChasquiError} `insufficient_quota`; `rate_limit_exceeded` while running requests may use the rest */
  admit(org: string, keyId: string | null): Admission {
    this.#beginMonth();
    const accounts = accountNames(org, keyId ?? '').map((name) => this.#account(name));
    for (const account of accounts) this.#refuseSpent(account);
    for (const { reserved } of accounts) reserved.requests += 1;
    let tokens = 0;
    return {
      headers: {},
      reserve: (estimate) => {
        if (accounts.every(({ budget }) => budget === null || budget.tokens === null)) return;
        for (const account of accounts) this.#refuseSpent(account, 'tokens');
        tokens = Math.min(estimate(), MAX_RESERVED_TOKENS);
        for (const { reserved } of accounts) reserved.tokens += tokens;
      },
      end: () => {
        for (const { reserved } of accounts) add(reserved, { tokens: -tokens, requests: -1 });
      },
    };
  }

  /** Call at the end of each request, after the end of its admission. */
  count({ org, keyId, at, promptTokens, completionTokens }: RequestUsage): void {
    this.#beginMonth();
    if (monthOf(at) !== this.#month) return;
    const tokens = promptTokens + completionTokens;
    // Runners are not trusted to report valid numbers.
    const used = { requests: 1, tokens: Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0 };
    for (const name of accountNames(org, keyId ?? '')) add(this.#account(name).used, used);
  }

  list(): BudgetState[] {
    this.#beginMonth();
    const month = this.#month;
    return this.store.list().map((budget) => {
      return { ...budget, month, used: this.#account(nameOf(budget)).used, alerts: this.store.alerts(budget, month) };
    });
  }

  find(name: BudgetName): Budget | null {
    return this.#accounts.get(nameOf(name))?.budget ?? null;
  }

  set(budget: Budget): void {
    this.store.set(budget, this.#month);
    this.#alerted.clear();
    this.#limit(budget);
    this.tick();
  }

  remove(name: BudgetName): void {
    this.store.remove(name);
    this.#account(nameOf(name)).budget = null;
    this.#limited.delete(nameOf(name));
  }

  /** Writes alerts, and calls webhooks. */
  tick(): void {
    this.#beginMonth();
    for (const { budget, used } of this.#limited.values()) this.#alert(budget, used);
    this.webhooks.tick();
  }

  close(): void {
    clearInterval(this.#timer);
    this.webhooks.close();
  }

  #alert(budget: Budget, used: Readonly<Record<Unit, number>>): void {
    for (const unit of UNITS) {
      const limit = budget[unit];
      if (limit === null) continue;
      const level = levelOf(used[unit], limit, budget.warnPercent);
      const id = [nameOf(budget), unit, level].join(' ');
      if (level === null || this.#alerted.has(id)) continue;
      const { org, keyId } = budget;
      const [month, at] = [this.#month, this.#now()];
      this.store.addAlert({ org, keyId, month, unit, level, used: used[unit], budget: limit, at }, budget);
      this.#alerted.add(id);
    }
  }

  #refuseSpent({ budget, used, reserved }: Account, ...units: Unit[]): void {
    if (budget === null) return;
    for (const unit of units.length > 0 ? units : UNITS) {
      const limit = budget[unit];
      if (limit === null || used[unit] + reserved[unit] < limit) continue;
      const of = budget.keyId === '' ? `organisation ${budget.org}` : `API key ${budget.keyId}`;
      const text = `The budget of the ${of} is ${limit} ${unit} in ${this.#month}`;
      if (used[unit] >= limit) {
        const message = `${text}; ${used[unit]} are used. An owner can raise it: \`chasqui budgets set\``;
        throw new ChasquiError('insufficient_quota', message);
      }
      const message = `${text}. Running requests may use the rest. Try again in ${RESERVED_RETRY_S} s.`;
      const refusal = new ChasquiError('rate_limit_exceeded', message);
      refusal.retryAfterSeconds = RESERVED_RETRY_S;
      throw refusal;
    }
  }

  #limit(budget: Budget): void {
    const name = nameOf(budget);
    this.#limited.set(name, Object.assign(this.#account(name), { budget }));
  }

  #account(name: string): Account {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = { used: { tokens: 0, requests: 0 }, reserved: { tokens: 0, requests: 0 }, budget: null };
      this.#accounts.set(name, account);
    }
    return account;
  }

  /** A clock that is set back does not restore an earlier month. */
  #beginMonth(): void {
    const month = monthOf(this.#now());
    if (month <= this.#month) return;
    this.#month = month;
    this.#alerted.clear();
    for (const [name, account] of this.#accounts) {
      account.used = { tokens: 0, requests: 0 };
      if (account.budget === null && account.reserved.requests === 0) this.#accounts.delete(name);
    }
  }
}

/** Usage that jumps to the limit has no warning. */
function levelOf(used: number, limit: number, warnPercent: number): Level | null {
  if (used >= limit) return 'limit';
  return used >= (limit * warnPercent) / 100 ? 'warning' : null;
}

function monthOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 7);
}

function nameOf({ org, keyId }: BudgetName): string {
  return `${org}/${keyId}`;
}

/** The accounts of a request: that of the organisation, and that of its key. */
function accountNames(org: string, keyId: string): string[] {
  return keyId === '' ? [nameOf({ org, keyId })] : [nameOf({ org, keyId: '' }), nameOf({ org, keyId })];
}

function add(sum: Record<Unit, number>, more: Readonly<Record<Unit, number>>): void {
  for (const unit of UNITS) sum[unit] += more[unit];
}

/** The body has the form that Standard Webhooks recommends. */
function toCall(found: ReturnType<BudgetStore['dueDelivery']>, mailer: Mailer | undefined) {
  if (found === undefined) return undefined;
  const { alert, delivery } = found;
  const { org, keyId, month, unit, level, used, budget, at } = alert;
  const { id, target, attempts } = delivery;
  const data = { org, key_id: keyId === '' ? null : keyId, month, unit, used, budget };
  const payload = () => ({ type: `budget.${level}`, timestamp: new Date(at).toISOString(), data });
  const to = addressOf(delivery);
  const mail = to === null ? undefined : async () => mailer?.send({ id, org, to, ...alertMail(alert) }) ?? NO_MAILER;
  return { id, org, url: target, retries: attempts, payload, mail };
}
