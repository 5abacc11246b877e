/** Whether a request may call the app that it names. */
import { ChasquiError } from '../../errors.js';
import type { CloudKey, KeyRing } from './access.js';
import type { AppAddress } from './app-address.js';
import type { AppDirectory, DeployedApp } from './directory.js';

export interface Grant {
  app: DeployedApp;
  /** Null for a public app that was called without a key of its own. */
  key: { text: string; known: CloudKey } | null;
}

/**
 * A caller learns that an app exists only if it is public or the key opens it: everything else gets the same 401, or 403
 * where the key is for this address and not for calls. The owner of a whole organisation's key is told when an app's name
 * is misspelt.
 *
 * @throws {ChasquiError} `invalid_api_key`, `permission_denied`, `unknown_url`
 */
export function authorize(
  { directory, keys }: { directory: AppDirectory; keys: KeyRing },
  { org, app: name }: Pick<AppAddress, 'org' | 'app'>,
  authorization: string | undefined,
): Grant {
  const [, text] = /^Key (\S{1,500})$/.exec(authorization ?? '') ?? [];
  const known = text === undefined ? null : keys.check(text);
  const key = text !== undefined && known !== null && opens(known, org, name) ? { text, known } : null;
  const app = directory.find(org, name);
  if (app !== null && (app.auth === 'public' || key !== null)) return { app, key };
  if (known !== null && reaches(known, org, name) && key === null) throw lacksCall(known);
  if (key === null) throw new ChasquiError('invalid_api_key', `${problemWith(authorization)} ${ADVICE}`);
  throw new ChasquiError('unknown_url', `The organisation ${org} has no app called ${name}.`);
}

/** Whether a key may call an app. */
export function opens(key: CloudKey, org: string, app: string): boolean {
  return key.scopes.includes('call') && reaches(key, org, app);
}

function reaches(key: CloudKey, org: string, app: string): boolean {
  return (key.org === null || key.org === org) && (key.app === null || key.app === app);
}

function lacksCall({ id, scopes }: CloudKey): ChasquiError {
  return new ChasquiError(
    'permission_denied',
    `The key ${id} lacks the scope \`call\`, which requests to an app need; it has ${scopes.join(', ')}.`,
  );
}

const ADVICE =
  'Every request to a private app must carry the header `Authorization: Key <API_KEY>`, with one space, and a key that ' +
  'may call this app.';

/** The message never repeats a part of the header that may be a secret. */
function problemWith(authorization: string | undefined): string {
  if (authorization === undefined)
    return 'There is no such app, or it is private: the request has no Authorization header.';
  if (/^Key \S+$/.test(authorization)) {
    return 'There is no such app, or the API key does not open it: it may be unknown, expired, revoked or for something else.';
  }
  if (/^Bearer\s/i.test(authorization)) {
    return 'The scheme `Bearer` is not accepted here; a client that sends it by itself can be given a header of its own.';
  }
  return 'The Authorization header is not `Key`, one space and a key.';
}
