/**
 * Guards the app's port, which any web page in a browser can reach. A request must name this host and port, come from
 * the app's own pages or from no page, and carry the token or a credential derived from it. Only this account can read
 * the token. A cookie permits reading; all else also needs the key of the page (see mcp/README.md).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import { ownCall } from '../own-call.js';
import type { OpeningCodes } from './opening-codes.js';
import { PAGE_KEY_ENTRY, PAGE_KEY_HEADER } from './page-key.js';
import { explain, wantsPage } from './unknown-pages.js';

/** Browsers send cookies to all ports of a host, so each app has its own. */
export const cookieName = (port: number | string): string => `chasqui_app_${port}`;

/** Programs at other ports see the cookie. It therefore expires soon, and pages that are in use get new ones. */
const COOKIE_SECONDS = 3 * 24 * 3600;
const RENEW_AFTER_SECONDS = 3600;

export interface AppKeys {
  token: string;
  codes: OpeningCodes;
}

/** Call before `listen`; `port` is evaluated per request. */
export function guardApp(app: FastifyInstance, { token, codes }: AppKeys, port: () => number): void {
  app.addHook('onRequest', async (request, reply) => {
    checkHost(request, port());
    checkOrigin(request, port());
    const opening = openingOf(request);
    if (opening.token !== undefined && !areEqual(opening.token, token)) throw noToken();
    if (opening.token !== undefined || (opening.code !== undefined && codes.use(opening.code))) {
      return letIn(reply, token, port());
    }
    checkFetchSite(request);
    const { bearer, session } = credentialsOf(request, port());
    if (bearer !== undefined && areEqual(bearer, token)) return;
    const age = bearer === undefined ? ageOf(session, token, port()) : null;
    if (age === null) {
      if (wantsPage(request)) return explain(reply, 401, 'This page needs a key', OPENING_HELP);
      throw noToken();
    }
    const { method, headers } = request;
    const isPage = areEqual(String(headers[PAGE_KEY_HEADER]), pageKeyFor(token, port()));
    if (!isPage && method !== 'GET' && method !== 'HEAD') throw noPageKey();
    if (isPage && age > RENEW_AFTER_SECONDS) reply.header('set-cookie', cookieFor(token, port()));
  });
}

/** A session: its expiry in seconds since 1970, signed with the token for this port. */
function sessionUntil(expiry: string, token: string, port: number): string {
  return `${expiry}.${createHmac('sha256', token)
    .update(`${cookieName(port)}.${expiry}`)
    .digest('base64url')}`;
}

/** `now` in seconds since 1970. */
export function cookieFor(token: string, port: number, now = Date.now() / 1000): string {
  const session = sessionUntil(String(Math.floor(now) + COOKIE_SECONDS), token, port);
  return `${cookieName(port)}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}`;
}

export function pageKeyFor(token: string, port: number): string {
  return createHmac('sha256', token).update(`page.${port}`).digest('base64url');
}

/** Returns the age of a session in seconds, or null if it is invalid or has expired. */
function ageOf(session: string, token: string, port: number): number | null {
  const [expiry = ''] = session.split('.', 1);
  const rest = Number(expiry) - Date.now() / 1000;
  return areEqual(session, sessionUntil(expiry, token, port)) && rest > 0 ? COOKIE_SECONDS - rest : null;
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

/** Programs at other ports see the cookie and can send any header, but never see the key. */
function noPageKey(): ChasquiError {
  return new ChasquiError(
    'app_token_missing',
    `This page can only read, because it was not opened by the app. Open it again: \`${ownCall()} desktop\`.`,
  );
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

/**
 * Sets the cookie, and stores the key of pages. A script opens the app: the token may come from another site, such as a
 * web terminal, and strict cookies are not sent along a redirect from there.
 */
function letIn(reply: FastifyReply, token: string, port: number): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const script = `try { localStorage.setItem('${PAGE_KEY_ENTRY}', '${pageKeyFor(token, port)}') } finally { location.replace('/') }`;
  reply.headers({
    'set-cookie': cookieFor(token, port),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; frame-ancestors 'none'`,
  });
  const page = `<!doctype html><title>chasqui</title><script nonce="${nonce}">${script}</script>`;
  return reply.type('text/html; charset=utf-8').send(page);
}

function credentialsOf({ headers }: FastifyRequest, port: number): { bearer: string | undefined; session: string } {
  const [, bearer] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
  const prefix = `${cookieName(port)}=`;
  const cookie = (headers.cookie ?? '').split(/;\s*/).find((each) => each.startsWith(prefix)) ?? prefix;
  return { bearer, session: cookie.slice(prefix.length) };
}

const OPENING_HELP = `Open the app with <code>${ownCall()} desktop</code>, which sends the key to this browser.`;

function noToken(): ChasquiError {
  return new ChasquiError(
    'app_token_missing',
    `This is the port of the chasqui desktop app. Open the URL that \`${ownCall()} desktop\` prints, which contains the ` +
      'token. Programs send `Authorization: Bearer <token>` with the token of desktop.json in the data folder.',
  );
}

function areEqual(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHmac('sha256', 'chasqui').update(text).digest());
  return timingSafeEqual(left as Buffer, right as Buffer);
}
