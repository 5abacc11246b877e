/**
 * Session cookies and CSRF protection. Cookies are read here only: they grant access to the dashboard and nothing else,
 * and API keys do not grant access to it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../../images/public-address.js';
import { formTokenOf, isSame, newSecret } from '../accounts/secret.js';
import type { Session, Sessions } from '../accounts/sessions.js';
import { BASE, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';

const WEEK_SECONDS = 7 * 24 * 3600;
const OIDC_SECONDS = 600;
const SECRET = /^[\w-]{43}$/;

/** A form that was not proven to come from one of our pages. */
export class NotOurForm extends Error {}

export class Guard {
  constructor(
    private readonly sessions: Sessions,
    private readonly publicUrl: () => string,
  ) {}

  /** Returns null without a valid session. */
  viewer(request: FastifyRequest): Viewer | null {
    const secret = cookie(request, this.#cookieName(request, 'session'));
    const session = secret === null ? null : this.sessions.find(secret);
    return secret === null || session === null ? null : { session, formToken: formTokenOf(secret) };
  }

  /** Always issues a new cookie, to prevent session fixation. */
  signIn(request: FastifyRequest, reply: FastifyReply, userId: string): void {
    const browser = request.headers['user-agent'] ?? '';
    const secret = this.sessions.begin(userId, { address: request.ip, browser });
    this.#setCookie(request, reply, 'session', secret, WEEK_SECONDS);
    this.#setCookie(request, reply, 'visit', '', 0);
  }

  /** Starts a sign-in at a provider. Returns the secret of its cookie. */
  beginOidc(request: FastifyRequest, reply: FastifyReply): string {
    const secret = newSecret();
    this.#setCookie(request, reply, 'oidc', secret, OIDC_SECONDS);
    return secret;
  }

  /** Returns the secret of a sign-in at a provider, once. */
  takeOidc(request: FastifyRequest, reply: FastifyReply): string | null {
    const secret = cookie(request, this.#cookieName(request, 'oidc'));
    if (secret !== null) this.#setCookie(request, reply, 'oidc', '', 0);
    return secret;
  }

  signOut(request: FastifyRequest, reply: FastifyReply, session: Session): void {
    this.sessions.end(session.userId, session.id);
    this.#setCookie(request, reply, 'session', '', 0);
  }

  /** Form token for visitors without a session. */
  visitToken(request: FastifyRequest, reply: FastifyReply): string {
    const known = cookie(request, this.#cookieName(request, 'visit'));
    const secret = known ?? newSecret();
    if (known === null) this.#setCookie(request, reply, 'visit', secret, 3600);
    return formTokenOf(secret);
  }

  /** Throws `NotOurForm` unless the request headers and the form token prove the form's origin. */
  checkForm(request: FastifyRequest, kind: CookieKind): void {
    this.#checkOrigin(request);
    const secret = cookie(request, this.#cookieName(request, kind));
    const token = new SentForm(request.body).exact('form_token');
    if (secret === null || !isSame(token, formTokenOf(secret))) throw new NotOurForm('the form is old');
  }

  /** All current browsers send both headers with every form. */
  #checkOrigin({ headers, protocol, host }: FastifyRequest): void {
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin') throw new NotOurForm(`the form came from ${site}`);
    if (headers.origin === undefined && site === undefined) throw new NotOurForm('the form came from nowhere');
    if (headers.origin !== undefined && !this.#isOurs(headers.origin, `${protocol}://${host}`)) {
      throw new NotOurForm('the form came from another site');
    }
  }

  /**
   * The Host header counts only for addresses of this machine, because an attacker can point any name at this server
   * (DNS rebinding).
   */
  #isOurs(origin: string, asked: string): boolean {
    if (origin === new URL(this.publicUrl()).origin) return true;
    return origin === asked && URL.canParse(origin) && isLoopback(new URL(origin).hostname);
  }

  /** Over TLS, the `__Host-` prefix binds cookies to this host; without TLS browsers reject it. */
  #cookieName(request: FastifyRequest, kind: CookieKind): string {
    return `${this.#isSecure(request) ? '__Host-' : ''}chasqui-${kind}`;
  }

  /** True also behind a proxy that terminates TLS. */
  #isSecure({ protocol, hostname }: FastifyRequest): boolean {
    return protocol === 'https' || (this.publicUrl().startsWith('https:') && !isLoopback(hostname));
  }

  #setCookie(request: FastifyRequest, reply: FastifyReply, kind: CookieKind, value: string, seconds: number): void {
    const name = this.#cookieName(request, kind);
    // The callback of a provider comes from another site.
    const sameSite = kind === 'oidc' ? 'Lax' : 'Strict';
    const parts = [`${name}=${value}`, 'Path=/', `Max-Age=${seconds}`, 'HttpOnly', `SameSite=${sameSite}`];
    if (this.#isSecure(request)) parts.push('Secure');
    // A reply may set several cookies.
    const others = [reply.getHeader('set-cookie') ?? []].flat().map(String);
    reply.header('set-cookie', [...others, parts.join('; ')]);
  }
}

type CookieKind = 'session' | 'visit' | 'oidc';

/** Returns null for malformed values. */
function cookie({ headers }: FastifyRequest, name: string): string | null {
  const prefix = `${name}=`;
  const found = (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix));
  const value = found.length === 1 ? (found[0] as string).slice(prefix.length) : '';
  return SECRET.test(value) ? value : null;
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'"],
    ...["base-uri 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer`, browsers would omit the Origin of forms.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cache-control': 'no-store',
};

export function protectPages(reply: FastifyReply): void {
  reply.headers(HEADERS);
}

export const SIGN_IN_URL = `${BASE}/sign-in`;
export const OIDC_URL = `${SIGN_IN_URL}/oidc`;
