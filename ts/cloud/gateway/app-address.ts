/** Parses the address of a request: `/<org>/<app>/v1/...`. */
import { ChasquiError } from '../../errors.js';
import { RESERVED_ORGS, URL_NAME } from '../../keys/key-settings.js';

export interface AppAddress {
  org: string;
  app: string;
  /** Path for the runner, with a leading slash. */
  path: string;
  /** Includes the question mark; may be empty. */
  query: string;
}

const MAX_SHOWN_LENGTH = 200;

/**
 * Names are not decoded, so each app has exactly one spelling.
 *
 * @throws {ChasquiError} `bad_request` for a path that another program might read differently; `unknown_url` for a path
 * that is not below an app
 */
export function parseAppAddress(target: string): AppAddress {
  const { path, query } = splitTarget(target);
  refuseAmbiguous(path);
  const [, org = '', app = '', ...rest] = path.split('/');
  if (!URL_NAME.test(org) || !URL_NAME.test(app) || RESERVED_ORGS.includes(org)) {
    throw new ChasquiError(
      'unknown_url',
      `Unknown URL \`${shorten(path)}\`. The base URL of an app ends in \`/<org>/<app>/v1\`.`,
    );
  }
  return { org, app, path: `/${rest.join('/')}`, query };
}

/** Whether the cloud itself serves the path. */
export function isCloudPath(target: string): boolean {
  const { path } = splitTarget(target);
  return path === '/' || RESERVED_ORGS.some((name) => path === `/${name}` || path.startsWith(`/${name}/`));
}

/** The target may be an absolute URL (RFC 9112, 3.2.2). Its host is ignored. */
function splitTarget(target: string): { path: string; query: string } {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const at = local.indexOf('?');
  const path = at < 0 ? local : local.slice(0, at);
  return { path: path === '' ? '/' : path, query: at < 0 ? '' : local.slice(at) };
}

/** Rejects spellings that the runner's router might normalize to a path that was not checked here. */
function refuseAmbiguous(path: string): void {
  const problem = problemWith(path);
  if (problem !== null) throw new ChasquiError('bad_request', `The path \`${shorten(path)}\` ${problem}.`);
}

function problemWith(path: string): string | null {
  if (!path.startsWith('/')) return 'does not begin with a slash';
  if (path.includes('//')) return 'has an empty segment: `//`';
  if (path.includes('\\') || /%(2f|5c)/i.test(path)) return 'has an encoded slash or a backslash';
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'has a `%` without two hexadecimal digits';
  if (/%([01][0-9a-f]|7f)/i.test(path)) return 'has a control character';
  if (path.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part))) return 'has a relative segment: `.` or `..`';
  return /^[!-~]*$/.test(path) ? null : 'has a character that must be percent-encoded';
}

function shorten(path: string): string {
  return path.length > MAX_SHOWN_LENGTH ? `${path.slice(0, MAX_SHOWN_LENGTH)}…` : path;
}

/** Paths of a runner that clients may call; not its health or model management. */
const PUBLIC_PATHS = /^\/(v1(\/.*)?|tokenize|detokenize|apply-template)\/?$/;

export function isPublicPath(path: string): boolean {
  return PUBLIC_PATHS.test(path);
}
