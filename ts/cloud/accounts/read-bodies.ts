/** What programs send to the accounts API → settings, or `invalid_type` and its kin with the field's name. */
import { ChasquiError } from '../../errors.js';
import type { NewKeySettings } from '../../keys/key-store.js';
import type { Scope } from '../gateway/access.js';

const KEY_FIELDS = ['name', 'org', 'app', 'scopes', 'expires_at', 'limits'];
const LIMIT_FIELDS = ['requests_per_minute', 'tokens_per_minute', 'concurrency', 'body_bytes'];

/** The values' ranges are checked where the key is made. */
export function keyFromBody(body: unknown): NewKeySettings {
  const fields = objectOf(body ?? {}, '', KEY_FIELDS);
  const limits = fields.limits === undefined ? {} : objectOf(fields.limits, 'limits', LIMIT_FIELDS);
  const settings: NewKeySettings = {
    limits: {
      requestsPerMinute: numberOf(limits, 'requests_per_minute', 'limits.'),
      tokensPerMinute: numberOf(limits, 'tokens_per_minute', 'limits.'),
      concurrency: numberOf(limits, 'concurrency', 'limits.'),
      bodyBytes: numberOf(limits, 'body_bytes', 'limits.'),
    },
    name: textOf(fields, 'name'),
    expiresAt: numberOf(fields, 'expires_at'),
  };
  // Without these the key reaches as far as that of who makes it.
  if (fields.org !== undefined) settings.org = textOf(fields, 'org');
  if (fields.app !== undefined) settings.app = textOf(fields, 'app');
  if (fields.scopes !== undefined) settings.scopes = scopesOf(fields.scopes);
  return settings;
}

export function nameFromBody(body: unknown): string {
  const name = textOf(objectOf(body, '', ['name']), 'name');
  if (name === null) throw new ChasquiError('missing_required_parameter', '`name` is missing.', 'name');
  return name;
}

function objectOf(value: unknown, field: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(field || 'body', 'an object');
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  const name = field === '' ? unknown : `${field}.${unknown}`;
  throw new ChasquiError('unknown_parameter', `There is no field \`${name}\`; there are ${known.join(', ')}.`, name);
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
