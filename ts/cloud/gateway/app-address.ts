/** Which app a request is for, and what it wants of it: `/<org>/<app>/v1/...`. */
import { ChasquiError } from '../../errors.js';

export interface AppAddress {
  org: string;
  app: string;
  /** The path that the runner sees, beginning with a slash. */
  path: string;
  /** With its question mark; empty without one. */
  query: string;
}

/** First parts of paths that are the cloud's own, which no organisation can be called. */
export const RESERVED_ORGS: readonly string[] = ['api', 'dashboard', 'health', 'metrics'];

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const MAX_SHOWN_LENGTH = 200;

/**
 * Names are taken as they stand, so nothing that is written in another way can mean an app.
 *
 * @throws {ChasquiError} `bad_request` for a path that another program might read as a different one; `unknown_url` for
 * a path that is not below an app.
 */
export function parseAppAddress(target: string): AppAddress {
  const { path, query } = splitTarget(target);
  refuseAmbiguous(path);
  const [, org = '', app = '', ...rest] = path.split('/');
  if (!NAME.test(org) || !NAME.test(app) || RESERVED_ORGS.includes(org)) {
    throw new ChasquiError(
      'unknown_url',
      `There is nothing at \`${shorten(path)}\`. Apps are at \`/<org>/<app>\`; the base URL of a client ends in \`/<org>/<app>/v1\`.`,
    );
  }
  return { org, app, path: `/${rest.join('/')}`, query };
}

/** The first part of a path, by which the cloud's own paths are known. */
export function firstSegment(target: string): string {
  return splitTarget(target).path.split('/', 2)[1] ?? '';
}

/** A target may be a whole URL, as proxies send it (RFC 9112, 3.2.2). Its host says nothing here. */
function splitTarget(target: string): { path: string; query: string } {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const at = local.indexOf('?');
  const path = at < 0 ? local : local.slice(0, at);
  return { path: path === '' ? '/' : path, query: at < 0 ? '' : local.slice(at) };
}

/**
 * A runner's router might decode, join or go up what is written in one of these ways, and so be asked for a path that was
 * not checked here.
 */
function refuseAmbiguous(path: string): void {
  const problem = problemWith(path);
  if (problem !== null) throw new ChasquiError('bad_request', `The path \`${shorten(path)}\` ${problem}.`);
}

function problemWith(path: string): string | null {
  if (!path.startsWith('/')) return 'does not begin with a slash';
  if (path.includes('//')) return 'has an empty part: `//`';
  if (path.includes('\\') || /%(2f|5c)/i.test(path)) return 'has a slash or backslash within a part';
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'has a `%` that no two hexadecimal digits follow';
  if (/%([01][0-9a-f]|7f)/i.test(path)) return 'has a control character';
  if (path.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part)))
    return 'has a part that means a folder: `.` or `..`';
  return /^[!-~]*$/.test(path) ? null : 'has a character that must be written with `%`';
}

function shorten(path: string): string {
  return path.length > MAX_SHOWN_LENGTH ? `${path.slice(0, MAX_SHOWN_LENGTH)}…` : path;
}

/** What of a runner is shown to callers: not what unloads its model, or says how it fares. */
const OPEN_PATHS = /^\/(v1(\/.*)?|tokenize|detokenize|apply-template)\/?$/;

export function isOpen(path: string): boolean {
  return OPEN_PATHS.test(path);
}
