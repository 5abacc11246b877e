/**
 * Who may use the app's port: the app's own page and this account's commands. Whatever runs in a browser, on any site,
 * can send requests to this machine, so each request must come by a name that nobody else can own, from no other
 * page, and with the token, which only this account can read, or with what was given for it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import type { OpeningCodes } from './opening-codes.js';

export const APP_COOKIE = 'chasqui_app';

/** A year: the cookie is of no use where the token has changed. */
const COOKIE_SECONDS = 365 * 24 * 3600;

export interface AppKeys {
  token: string;
  codes: OpeningCodes;
}

/** To be called before the application listens; `port` is asked for with each request. */
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

/** The cookie is not the token itself: programs on other ports of this machine are sent it too. */
export function sessionOf(token: string): string {
  return createHmac('sha256', token).update(APP_COOKIE).digest('base64url');
}

function checkHost({ headers }: FastifyRequest, port: number): void {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
  if (names.includes(headers.host?.toLowerCase() ?? '')) return;
  throw new ChasquiError('host_not_allowed', `The app goes by the names ${names.join(', ')} only.`);
}

function checkOrigin({ headers }: FastifyRequest, port: number): void {
  const { origin, host } = headers;
  if (origin === undefined || origin === `http://${host?.toLowerCase()}`) return;
  throw foreign(`The page ${origin.slice(0, 100)} may not use the app, which listens on port ${port} for its own.`);
}

/** Browsers say where a request comes from even where it has no Origin, as those for images and scripts. */
function checkFetchSite({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw foreign('Only pages of the app itself may use it.');
}

function foreign(message: string): ChasquiError {
  return new ChasquiError('origin_not_allowed', message);
}

/** What an opening address has. One with a code that is used up leads who has the cookie to the app all the same. */
function openingOf({ method, url, query }: FastifyRequest): { token?: string; code?: string } {
  const [, name] = /^\/\?(token|code)=/.exec(url) ?? [];
  if (method !== 'GET' || name === undefined) return {};
  return { [name]: String((query as Record<string, unknown>)[name]) };
}

/** Whoever knows the token may come from anywhere: from a terminal that runs in a page, for example. */
function letIn(request: FastifyRequest, reply: FastifyReply, session: string): FastifyReply {
  const cookie = `${APP_COOKIE}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}`;
  reply.header('set-cookie', cookie).header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  const site = request.headers['sec-fetch-site'];
  if (site === undefined || site === 'none') return reply.redirect('/', 303);
  // A browser sends no strict cookie along a redirect that another site began, but it does from a page of ours.
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
    'This is the port of the chasqui desktop app. Open it with the address that `chasqui desktop` prints, which has its ' +
      'token; programs send `Authorization: Bearer <token>`, where the token is in desktop.json in the data folder.',
  );
}

function areEqual(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHmac('sha256', APP_COOKIE).update(text).digest());
  return timingSafeEqual(left as Buffer, right as Buffer);
}
