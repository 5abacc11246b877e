/** `/dashboard/sign-in/oidc`: sign-in of invited users with an OpenID Connect provider. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from '../../http/html.js';
import { networkOf, TryCounter } from '../accounts/sign-in-limits.js';
import { type DashboardContext, nextUrl } from '../dashboard/context.js';
import { FailedSignIns } from '../dashboard/failed-sign-ins.js';
import { OIDC_URL } from '../dashboard/guard.js';
import { sendPage } from '../dashboard/page.js';
import { beginSession, sendSignInPage } from '../dashboard/sign-in-routes.js';
import { type OidcProvider, SignInRefused } from './provider.js';
import { newState, readState } from './sign-in-state.js';

const CALLBACK_URL = `${OIDC_URL}/callback`;
const PER_NETWORK = { burst: 60, perMinute: 30, maxEntries: 20_000 };
/** Longer than a state is valid. */
const ONCE = { burst: 1, perMinute: 1 / 11, maxEntries: 20_000 };

export function oidcRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { oidc } = context;
  if (oidc === undefined) return;
  const failures = new FailedSignIns(context.accounts.audit);
  const networks = new TryCounter(PER_NETWORK);
  const route = (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) => {
    app.get(url, async (request, reply) => {
      const seconds = networks.take(networkOf(request.ip));
      const text = `Too many attempts. Wait ${seconds} seconds, then try again.`;
      if (seconds > 0) return refuse(context, request, reply.header('retry-after', seconds), 429, text);
      try {
        return await handler(request, reply);
      } catch (error) {
        if (!(error instanceof SignInRefused)) throw error;
        const { isUnavailable = false, cause } = error.options;
        if (!isUnavailable) failures.add(codeOf(cause) ?? error.text, request.ip);
        return refuse(context, request, reply, isUnavailable ? 503 : 403, error.text);
      }
    });
  };
  startRoute(route, context, oidc);
  callbackRoute(route, context, oidc);
}

type Route = (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) => void;

function startRoute(route: Route, { guard, publicUrl }: DashboardContext, oidc: OidcProvider): void {
  route(OIDC_URL, async (request, reply) => {
    const { next, again } = request.query as { next?: unknown; again?: unknown };
    const state = newState(guard.beginOidc(request, reply), nextUrl(next));
    const target = await oidc.authorizationUrl(state, publicUrl() + CALLBACK_URL, again !== undefined);
    return reply.redirect(target.href, 303);
  });
}

function callbackRoute(route: Route, context: DashboardContext, oidc: OidcProvider): void {
  const { accounts, guard, publicUrl } = context;
  const used = new TryCounter(ONCE);
  route(CALLBACK_URL, async (request, reply) => {
    const { state } = request.query as { state?: unknown };
    const secret = guard.takeOidc(request, reply);
    const checks = secret === null || typeof state !== 'string' ? null : readState(secret, state);
    if (checks === null || used.take(checks.state) > 0) {
      throw new SignInRefused('This sign-in has expired, or another browser or tab has started it. Try again.');
    }
    const { email, ...identity } = await oidc.identityOf(new URL(publicUrl() + request.url), checks);
    const user = accounts.users.bind(email, identity);
    if (user === null) throw new SignInRefused(accounts.users.named(email) ? otherAccount(email) : notInvited(email));
    beginSession(context, request, reply, user, { by: 'oidc' });
    // Browsers send `SameSite=Strict` cookies only with a request that our own page has started.
    const next = nextUrl(checks.next);
    const body = html`<div class="card narrow"><h1>Signed in</h1><p><a class="button" href="${next}">Continue</a></p></div>`;
    return sendPage(reply.header('refresh', `0;url=${next}`), { title: 'Signed in', body });
  });
}

function notInvited(email: string): string {
  return `${email} is not invited. Ask an owner of your organisation.`;
}

function otherAccount(email: string): string {
  return `Another account has signed in as ${email} before. Ask an owner of your organisation to reset the sign-in of this user.`;
}

function refuse(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  text: string,
): FastifyReply {
  const { next } = request.query as { next?: unknown };
  const form = { next: nextUrl(next), name: '' };
  return sendSignInPage(context, request, reply.code(status), form, { kind: 'bad', text });
}

function codeOf(cause: unknown): string | undefined {
  const { error, code } = (cause ?? {}) as { error?: string; code?: string };
  return error ?? code;
}
