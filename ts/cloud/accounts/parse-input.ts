/** Parses bodies and queries of the accounts API. Errors name the field. */
import { ChasquiError, invalidValue } from '../../errors.js';
import { LIMIT_NAMES, ROLE_NAMES, ROLES, type Role, type Scope, toLimits } from '../../keys/key-settings.js';
import type { NewKeySettings } from '../../keys/key-store.js';
import { type AuditQuery, MAX_AUDIT_ROWS } from './audit.js';
import type { UsageQuery } from './usage-store.js';
import type { Invitation } from './user-changes.js';

const KEY_FIELDS = ['name', 'org', 'app', 'scopes', 'role', 'expires_at', 'limits'];

/** `KeyStore.create` checks the ranges. */
export function keyFromBody(body: unknown): NewKeySettings {
  const fields = objectOf(body ?? {}, '', KEY_FIELDS);
  const limits = fields.limits === undefined ? {} : objectOf(fields.limits, 'limits', LIMIT_NAMES);
  const settings: NewKeySettings = {
    limits: toLimits((name) => numberOf(limits, name, 'limits.')),
    name: textOf(fields, 'name'),
    expiresAt: numberOf(fields, 'expires_at'),
  };
  // If omitted, the values of the actor apply.
  if (fields.org !== undefined) settings.org = textOf(fields, 'org');
  if (fields.app !== undefined) settings.app = textOf(fields, 'app');
  const role = toRole(textOf(fields, 'role'));
  if (role !== undefined) settings.scopes = ROLES[role];
  if (role !== undefined && fields.scopes !== undefined) throw wrong('role', 'and `scopes` exclude each other');
  if (fields.scopes !== undefined) settings.scopes = scopesOf(fields.scopes);
  return settings;
}

export function invitationFromBody(body: unknown): Invitation {
  const fields = objectOf(body, '', ['name', 'org', 'role']);
  const name = textOf(fields, 'name');
  if (name === null) throw new ChasquiError('missing_required_parameter', '`name` is missing.', 'name');
  const role = textOf(fields, 'role');
  return { name, org: fields.org === undefined ? undefined : textOf(fields, 'org'), role: toRole(role) };
}

export function toRole(text: string | null): Role | undefined {
  if (text === null) return undefined;
  if (ROLE_NAMES.includes(text as Role)) return text as Role;
  throw wrong('role', `must be one of ${ROLE_NAMES.join(', ')}`);
}

/** Refuses unknown fields. */
export function objectOf(value: unknown, field: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(field || 'body', 'an object');
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  const name = field === '' ? unknown : `${field}.${unknown}`;
  throw new ChasquiError('unknown_parameter', `Unknown field \`${name}\`. Known fields: ${known.join(', ')}.`, name);
}

function textOf(fields: Record<string, unknown>, name: string): string | null {
  const value = fields[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw wrongType(name, 'a string');
}

function numberOf(fields: Record<string, unknown>, name: string, prefix = ''): number | null {
  const value = fields[name] ?? null;
  if (value === null || typeof value === 'number') return value;
  throw wrongType(prefix + name, 'a number');
}

function scopesOf(value: unknown): Scope[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value as Scope[];
  throw wrongType('scopes', 'an array of strings');
}

function wrongType(field: string, wanted: string): ChasquiError {
  return new ChasquiError('invalid_type', `\`${field}\` must be ${wanted}.`, field);
}

const DAY_SECONDS = 86_400;
const MAX_DAYS = 3660;

type Given = Record<string, unknown>;

/** Default: the last 30 days, by day. */
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

/** A repeated field is an array. */
function textIn(given: Given, name: string): string | null {
  const value = given[name] ?? null;
  if (value === null || value === '') return null;
  if (typeof value === 'string' && value.length <= 200) return value;
  throw wrong(name, 'must be given once, with up to 200 characters');
}

function wrong(field: string, problem: string): ChasquiError {
  return invalidValue(`\`${field}\` ${problem}.`, field);
}
