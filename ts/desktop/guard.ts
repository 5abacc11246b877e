/**
 * Guards the app's port, which any web page in a browser can reach. A request must name this host and port, come from
 * the app's own pages or from no page, and carry the token or a credential derived from it. Only this account can read
 * the token.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import type { OpeningCodes } from './opening-codes.js';

export const APP_COOKIE = 'chasqui_app';

/** One year. The cookie becomes invalid with its token. */
const COOKIE_SECONDS = 365 * 24 * 3600;

export interface AppKeys {
  token: string;
  codes: OpeningCodes;
}

/** Call before `listen`; `port` is evaluated per request. */
export function guardApp(app: FastifyInstance, { token, codes }: AppKeys, port: () => number): void {
  const session = sessionOf(token);
  app.addHook('onRequest', async (request, reply) => {
    checkHost(request, port());
    checkOrigin(request, port());
    const opening = openingOf(request);
    if (opening.token !== undefined && !areEqual(opening.token, token)) throw noToken();
    if (opening.token !== undefined || (opening.code !== undefined && codes.use(opening.code))) {
      return letIn(request, reply, session);
    }
    checkFetchSite(request);
    if (!isKnown(request, token, session)) throw noToken();
  });
}

/** Derived from the token: browsers send cookies to all ports of this machine. */
export function sessionOf(token: string): string {
  return createHmac('sha256', token).update(APP_COOKIE).digest('base64url');
}

function checkHost({ headers }: FastifyRequest, port: number): void {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
  if (names.includes(headers.host?.toLowerCase() ?? '')) return;
  throw new ChasquiError('host_not_allowed', `The app accepts only the host names ${names.join(', ')}.`);
}

function checkOrigin({ headers }: FastifyRequest, port: number): void {
  const { origin, host } = headers;
  if (origin === undefined || origin === `http://${host?.toLowerCase()}`) return;
  throw foreign(`The page ${origin.slice(0, 100)} may not use the app on port ${port}.`);
}

/** `Sec-Fetch-Site` covers requests without an Origin, such as images and scripts. */
function checkFetchSite({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw foreign('Only pages of the app may use it.');
}

function foreign(message: string): ChasquiError {
  return new ChasquiError('origin_not_allowed', message);
}

/** The credential in an opening URL. A used code still redirects to the app if the cookie is valid. */
function openingOf({ method, url, query }: FastifyRequest): { token?: string; code?: string } {
  const [, name] = /^\/\?(token|code)=/.exec(url) ?? [];
  if (method !== 'GET' || name === undefined) return {};
  return { [name]: String((query as Record<string, unknown>)[name]) };
}

/** Sets the cookie. The token may come from another site, such as a web terminal. */
function letIn(request: FastifyRequest, reply: FastifyReply, session: string): FastifyReply {
  const cookie = `${APP_COOKIE}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}`;
  reply.header('set-cookie', cookie).header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  const site = request.headers['sec-fetch-site'];
  if (site === undefined || site === 'none') return reply.redirect('/', 303);
  // Strict cookies are not sent along a redirect from another site, but they are after a refresh of our own page.
  return reply.type('text/html; charset=utf-8').send('<!doctype html><meta http-equiv="refresh" content="0;url=/">');
}

function isKnown({ headers }: FastifyRequest, token: string, session: string): boolean {
  const [, bearer] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined) return areEqual(bearer, token);
  const cookies = (headers.cookie ?? '').split(/;\s*/);
  return cookies.some((cookie) => areEqual(cookie, `${APP_COOKIE}=${session}`));
}

function noToken(): ChasquiError {
  return new ChasquiError(
    'app_token_missing',
    'This is the port of the chasqui desktop app. Open the URL that `chasqui desktop` prints, which contains the ' +
      'token. Programs send `Authorization: Bearer <token>` with the token of desktop.json in the data folder.',
  );
}

function areEqual(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHmac('sha256', APP_COOKIE).update(text).digest());
  return timingSafeEqual(left as Buffer, right as Buffer);
}
