/** What stands after the `?` of a request for usage or for the audit. */
import { ChasquiError } from '../../errors.js';
import { type AuditQuery, MAX_AUDIT_ROWS } from './audit.js';
import type { UsageQuery } from './usage-store.js';

const DAY_SECONDS = 86_400;
const MAX_DAYS = 3660;

type Given = Record<string, unknown>;

/** By default the last 30 days, day by day. */
export function usageQuery(query: unknown, now = Date.now() / 1000): UsageQuery & { format: 'json' | 'csv' } {
  const given = query as Given;
  const to = numberIn(given, 'to') ?? Math.ceil(now);
  const from = numberIn(given, 'from') ?? to - 30 * DAY_SECONDS;
  if (from >= to || to - from > MAX_DAYS * DAY_SECONDS) {
    throw wrong('from', `must be a time before \`to\`, at most ${MAX_DAYS} days`);
  }
  const by = oneOf(given, 'by', ['day', 'hour'] as const);
  const format = oneOf(given, 'format', ['json', 'csv'] as const);
  const [org, app, keyId] = ['org', 'app', 'key_id'].map((name) => textIn(given, name)) as (string | null)[];
  return { from, to, hours: by === 'hour' ? 1 : 24, org: org ?? null, app: app ?? null, keyId: keyId ?? null, format };
}

export function auditQuery(query: unknown): AuditQuery {
  const given = query as Given;
  const limit = numberIn(given, 'limit') ?? 100;
  if (limit < 1 || limit > MAX_AUDIT_ROWS) throw wrong('limit', `must be from 1 to ${MAX_AUDIT_ROWS}`);
  return { org: textIn(given, 'org'), before: numberIn(given, 'before'), limit };
}

function numberIn(given: Given, name: string): number | null {
  const text = textIn(given, name);
  if (text === null) return null;
  if (!/^\d{1,12}$/.test(text)) throw wrong(name, 'must be a whole number');
  return Number(text);
}

function oneOf<const Text extends string>(given: Given, name: string, allowed: readonly Text[]): Text {
  const text = textIn(given, name) ?? (allowed[0] as Text);
  if (allowed.includes(text as Text)) return text as Text;
  throw wrong(name, `must be one of ${allowed.join(', ')}`);
}

/** A field that is sent twice is an array. */
function textIn(given: Given, name: string): string | null {
  const value = given[name] ?? null;
  if (value === null || value === '') return null;
  if (typeof value === 'string' && value.length <= 200) return value;
  throw wrong(name, 'must be given once, with up to 200 characters');
}

function wrong(field: string, problem: string): ChasquiError {
  return new ChasquiError('invalid_value', `\`${field}\` ${problem}.`, field);
}
