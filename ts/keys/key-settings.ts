/** What a key may be made to open, and the checks of what people and programs ask for. */
import { ChasquiError } from '../errors.js';

/** Calling apps, deploying them, reading about them, managing the organisation's keys. */
export const SCOPES = ['call', 'deploy', 'read', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Null is no limit. */
export interface KeyLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** How many requests may be under way at once. */
  concurrency: number | null;
  bodyBytes: number | null;
}

export interface KeySettings {
  /** What its owner calls it. */
  name: string | null;
  /** The organisation whose deployments it opens; null opens those of every organisation. */
  org: string | null;
  /** The only app of the organisation that it opens; null opens all. */
  app: string | null;
  scopes: readonly Scope[];
  /** Unix seconds; null is never. */
  expiresAt: number | null;
  limits: KeyLimits;
}

export const NO_LIMITS: Readonly<KeyLimits> = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  bodyBytes: null,
};

const MAX_NAME_LENGTH = 100;
const MAX_LIMIT = 1e12;
/** The last second that JavaScript's dates have. */
const MAX_UNIX_SECONDS = 8.64e12;
/** What may stand in `<host>/<org>/<app>`. */
const URL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Throws `invalid_value` that names the field, as an API or a form calls it. */
export function checkKeySettings(given: Partial<KeySettings>, now = Date.now() / 1000): KeySettings {
  const { name = null, org = null, app = null, scopes = ['call'], expiresAt = null } = given;
  const limits = { ...NO_LIMITS, ...given.limits };
  if (name !== null && (name.length === 0 || name.length > MAX_NAME_LENGTH)) {
    throw wrong('name', `must have from 1 to ${MAX_NAME_LENGTH} characters`);
  }
  checkUrlName('org', org);
  checkUrlName('app', app);
  if (app !== null && org === null) throw wrong('org', 'must name the organisation of the app when there is an `app`');
  if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > now && expiresAt <= MAX_UNIX_SECONDS)) {
    throw wrong('expires_at', 'must be a time in the future, in whole seconds since 1970');
  }
  for (const [field, limit] of [
    ['requests_per_minute', limits.requestsPerMinute],
    ['tokens_per_minute', limits.tokensPerMinute],
    ['concurrency', limits.concurrency],
    ['body_bytes', limits.bodyBytes],
  ] as const) {
    if (limit !== null && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) {
      throw wrong(`limits.${field}`, 'must be a whole number from 1, or be left out for no limit');
    }
  }
  return { name, org, app, scopes: checkScopes(scopes), expiresAt, limits };
}

/** In the order of `SCOPES`, each once. */
function checkScopes(scopes: readonly string[]): Scope[] {
  const unknown = scopes.some((scope) => !SCOPES.includes(scope as Scope));
  if (unknown || scopes.length === 0) throw wrong('scopes', `must have one or more of ${SCOPES.join(', ')}`);
  return SCOPES.filter((scope) => scopes.includes(scope));
}

function checkUrlName(field: string, name: string | null): void {
  if (name === null || URL_NAME.test(name)) return;
  throw wrong(field, 'must have up to 100 letters, digits, `.`, `_` and `-`, and begin with a letter or digit');
}

function wrong(field: string, problem: string): ChasquiError {
  return new ChasquiError('invalid_value', `\`${field}\` ${problem}.`, field);
}
