/** Settings of API keys, and their validation. */
import { type ChasquiError, invalidValue } from '../errors.js';

/** `call`: requests to apps; `deploy`: deployments; `read`: status and logs; `admin`: the organisation and its keys. */
export const SCOPES = ['call', 'deploy', 'read', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Sets of scopes for members of an organisation. */
export const ROLES = {
  owner: ['call', 'deploy', 'read', 'admin'],
  developer: ['call', 'deploy', 'read'],
  viewer: ['read'],
} as const satisfies Record<string, readonly Scope[]>;

export type Role = keyof typeof ROLES;
export const ROLE_NAMES = Object.keys(ROLES) as readonly Role[];

/** Returns the role with exactly these scopes, which are in the order of `SCOPES`, or null. */
export function roleOf(scopes: readonly Scope[]): Role | null {
  return ROLE_NAMES.find((name) => ROLES[name].join() === scopes.join()) ?? null;
}

/** null: unlimited. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  /** Prompt plus completion tokens, counted at the end of a request. */
  readonly tokensPerMinute: number | null;
  /** Running and queued requests. */
  readonly concurrency: number | null;
  readonly bodyBytes: number | null;
}

export interface KeySettings {
  name: string | null;
  /** Restricts the key to one organisation; null: all. */
  org: string | null;
  /** Restricts the key to one app of `org`; null: all. */
  app: string | null;
  scopes: readonly Scope[];
  /** Unix seconds; null: never. */
  expiresAt: number | null;
  limits: KeyLimits;
}

/** Names of the limits in the API and in the key store. */
const LIMITS = [
  ['requestsPerMinute', 'requests_per_minute'],
  ['tokensPerMinute', 'tokens_per_minute'],
  ['concurrency', 'concurrency'],
  ['bodyBytes', 'body_bytes'],
] as const satisfies [keyof KeyLimits, string][];

export type LimitName = (typeof LIMITS)[number][1];
export const LIMIT_NAMES: readonly LimitName[] = LIMITS.map(([, name]) => name);

export function toLimits(read: (name: LimitName) => number | null): KeyLimits {
  return Object.fromEntries(LIMITS.map(([key, name]) => [key, read(name)])) as unknown as KeyLimits;
}

export function limitsToJson(limits: Partial<KeyLimits>): Record<LimitName, number | null> {
  return Object.fromEntries(LIMITS.map(([key, name]) => [name, limits[key]])) as Record<LimitName, number | null>;
}

export const NO_LIMITS: Readonly<KeyLimits> = toLimits(() => null);

const MAX_NAME_LENGTH = 100;
const MAX_LIMIT = 1e12;
/** Maximum of JavaScript dates. */
const MAX_UNIX_SECONDS = 8.64e12;
/** Names of organisations and apps, as in `<host>/<org>/<app>`. */
export const URL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** Path prefixes of a cloud itself, so no organisation may have these names. */
export const RESERVED_ORGS: readonly string[] = ['api', 'dashboard', 'health', 'metrics', 'queue'];

/** Throws `invalid_value` with the name of the field in the API. */
export function checkKeySettings(given: Partial<KeySettings>, now = Date.now() / 1000): KeySettings {
  const { name = null, org = null, app = null, scopes = ['call'], expiresAt = null } = given;
  const limits = { ...NO_LIMITS, ...given.limits };
  if (name !== null && (name.length === 0 || name.length > MAX_NAME_LENGTH)) {
    throw invalid('name', `must have from 1 to ${MAX_NAME_LENGTH} characters`);
  }
  if (org !== null) checkUrlName('org', org);
  if (app !== null) checkUrlName('app', app);
  if (app !== null && org === null) throw invalid('org', 'must name the organisation of the `app`');
  if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > now && expiresAt <= MAX_UNIX_SECONDS)) {
    throw invalid('expires_at', 'must be a time in the future, in whole seconds since 1970');
  }
  for (const [key, field] of LIMITS) {
    const limit = limits[key];
    if (limit !== null && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) {
      throw invalid(`limits.${field}`, 'must be a whole number from 1; omit it for no limit');
    }
  }
  return { name, org, app, scopes: checkScopes(scopes), expiresAt, limits };
}

/** Returns the scopes in the order of `SCOPES`, without duplicates. */
function checkScopes(scopes: readonly string[]): Scope[] {
  const unknown = scopes.some((scope) => !SCOPES.includes(scope as Scope));
  if (unknown || scopes.length === 0) throw invalid('scopes', `must have one or more of ${SCOPES.join(', ')}`);
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** Everything that creates an organisation or an app checks its name here. */
export function checkUrlName(field: 'org' | 'app', name: string): void {
  if (!URL_NAME.test(name)) {
    throw invalid(field, 'must have at most 100 letters, digits, `.`, `_` and `-`, and start with a letter or digit');
  }
  if (field === 'org' && RESERVED_ORGS.includes(name)) {
    throw invalid(field, `cannot be \`${name}\`: a cloud uses \`/${name}\` itself. Choose another name`);
  }
}

function invalid(field: string, problem: string): ChasquiError {
  return invalidValue(`\`${field}\` ${problem}.`, field);
}

/** The last second of a UTC date such as 2030-12-31, in Unix seconds; NaN for an invalid date. */
export function endOfDate(date: string): number {
  const at = Date.parse(`${date}T23:59:59Z`);
  // JavaScript parses 30 February as a day in March.
  const isDay = !Number.isNaN(at) && new Date(at).toISOString().startsWith(`${date}T`);
  return isDay ? Math.floor(at / 1000) : Number.NaN;
}
