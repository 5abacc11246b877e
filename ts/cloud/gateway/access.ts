/** API keys as the gateway sees them, and the authorization of requests to apps. */
import { ChasquiError } from '../../errors.js';
import type { KeyLimits, Scope } from '../../keys/key-settings.js';
import type { AppAddress } from './app-address.js';
import type { AppDirectory, DeployedApp } from './directory.js';

export interface CloudKey {
  readonly id: string;
  /** Restricts the key to one organisation; null: all. */
  readonly org: string | null;
  /** Restricts the key to one app; null: all. */
  readonly app: string | null;
  readonly scopes: readonly Scope[];
  readonly limits: KeyLimits;
}

export interface KeyRing {
  /**
   * Looks up the text after `Key `. Returns null for an unknown, expired or revoked key. A revocation by another
   * process takes effect at once.
   */
  check(key: string): CloudKey | null;
}

export interface Grant {
  app: DeployedApp;
  /** Null for a public app called without a valid key. */
  key: { text: string; known: CloudKey } | null;
}

/**
 * Reveals that an app exists only if it is public or the key opens it. Otherwise every request gets the same 401, or
 * 403 for a key of this address without the scope `call`. A key of the whole organisation gets a 404 for a misspelt
 * app.
 *
 * @throws {ChasquiError} `invalid_api_key`, `permission_denied`, `unknown_url`
 */
export function authorize(
  { directory, keys }: { directory: AppDirectory; keys: KeyRing },
  { org, app: name }: Pick<AppAddress, 'org' | 'app'>,
  authorization: string | undefined,
): Grant {
  const app = directory.find(org, name);
  const scheme = app?.bearer ? /^(?:Key|Bearer) (\S{1,500})$/ : /^Key (\S{1,500})$/;
  const [, text] = scheme.exec(authorization ?? '') ?? [];
  const known = text === undefined ? null : keys.check(text);
  const key = text !== undefined && known !== null && opens(known, org, name) ? { text, known } : null;
  if (app !== null && (app.auth === 'public' || key !== null)) return { app, key };
  if (known !== null && reaches(known, org, name) && key === null) throw lacksCall(known);
  if (key === null) throw new ChasquiError('invalid_api_key', `${problemWith(authorization)} ${ADVICE}`);
  throw new ChasquiError('unknown_url', `The organisation ${org} has no app ${name}.`);
}

export function opens(key: CloudKey, org: string, app: string): boolean {
  return key.scopes.includes('call') && reaches(key, org, app);
}

function reaches(key: CloudKey, org: string, app: string): boolean {
  return (key.org === null || key.org === org) && (key.app === null || key.app === app);
}

function lacksCall({ id, scopes }: CloudKey): ChasquiError {
  return new ChasquiError('permission_denied', `The key ${id} lacks the scope \`call\`; it has ${scopes.join(', ')}.`);
}

const ADVICE =
  'Requests to a private app need the header `Authorization: Key <API_KEY>`, with one space and a key of this app.';

/** Never repeats the header, which may contain a secret. */
function problemWith(authorization: string | undefined): string {
  if (authorization === undefined)
    return 'The app does not exist, or it is private: the request has no Authorization header.';
  if (/^Key \S+$/.test(authorization)) {
    return 'The app does not exist, or the API key does not open it: the key may be unknown, expired, revoked or for another app.';
  }
  if (/^Bearer\s/i.test(authorization)) {
    return 'The scheme `Bearer` is not accepted, or the API key does not open the app. Only apps with `bearer: true` accept it.';
  }
  return 'The Authorization header is not `Key`, one space and a key.';
}
