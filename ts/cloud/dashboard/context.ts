/** Shared state and guards of the routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { Scope } from '../../keys/key-settings.js';
import type { Accounts } from '../accounts/accounts.js';
import type { Actor } from '../accounts/audit.js';
import { TooManyPasswords } from '../accounts/password.js';
import { may } from '../accounts/sessions.js';
import { SignInLimits } from '../accounts/sign-in-limits.js';
import type { User } from '../accounts/users.js';
import type { Budgets } from '../budgets/budgets.js';
import type { OidcProvider } from '../oidc/provider.js';
import type { AppsView } from './apps-view.js';
import type { ChatPage } from './chat-page.js';
import { Guard, SIGN_IN_URL } from './guard.js';
import { BASE, type Viewer } from './page.js';
import { FORM_LIMIT } from './sent-form.js';
import { ShownOnce } from './shown-once.js';

export interface DashboardParts {
  accounts: Accounts;
  budgets: Budgets;
  apps: AppsView;
  /** Without it, there is no playground. */
  chatPage?: ChatPage | undefined;
  oidc?: OidcProvider | undefined;
  /** Base URL of the cloud, without a trailing slash. */
  publicUrl: () => string;
  /** Called with internal errors. */
  onServerError: (error: unknown, requestId: string) => void;
}

export interface DashboardContext extends DashboardParts {
  guard: Guard;
  limits: SignInLimits;
  newKeys: ShownOnce;
}

export function createContext(parts: DashboardParts): DashboardContext {
  const guard = new Guard(parts.accounts.sessions, parts.publicUrl);
  return { ...parts, guard, limits: new SignInLimits(), newKeys: new ShownOnce() };
}

type Handler = (request: FastifyRequest, reply: FastifyReply, viewer: Viewer) => unknown;

/** The scope that the role of a user must have; `any` for all roles. */
type Needs = Scope | 'any';

/** A page for signed-in users; redirects others to the sign-in and back. */
export function pageRoute(
  app: FastifyInstance,
  { guard }: DashboardContext,
  url: string,
  needs: Needs,
  handler: Handler,
): void {
  app.get(url, async (request, reply) => {
    const viewer = guard.viewer(request);
    if (!viewer) return reply.redirect(signInUrl(request.url), 303);
    checkRole(viewer, needs);
    return handler(request, reply, viewer);
  });
}

/** A form of a signed-in user, with a verified token. */
export function formRoute(
  app: FastifyInstance,
  { guard, accounts }: DashboardContext,
  url: string,
  needs: Needs,
  handler: Handler,
): void {
  // Keys and users can always be removed, as in the API.
  const isLimited = needs !== 'any' && !/\/(revoke|remove|reset-sign-in)$/.test(url);
  app.post(url, { bodyLimit: FORM_LIMIT }, async (request, reply) => {
    const viewer = guard.viewer(request);
    if (!viewer) return reply.redirect(SIGN_IN_URL, 303);
    guard.checkForm(request, 'session');
    checkRole(viewer, needs);
    if (isLimited) accounts.changes.take(actorOf(viewer, request));
    return handler(request, reply, viewer);
  });
}

function checkRole({ session }: Viewer, needs: Needs): void {
  if (needs === 'any' || may(session, needs)) return;
  throw new ChasquiError('permission_denied', `Your role (${session.userRole}) does not allow this.`);
}

function signInUrl(url: string): string {
  return url === BASE || url.length > 500 ? SIGN_IN_URL : `${SIGN_IN_URL}?next=${encodeURIComponent(url)}`;
}

/** Redirect target after the sign-in; limited to our own pages. */
export function nextUrl(next: unknown): string {
  const isOurs = typeof next === 'string' && /^\/dashboard\/[\w/.?=&%-]{0,500}$/.test(next) && !next.includes('//');
  return isOurs ? next : `${BASE}/apps`;
}

export function actorOf({ session }: Viewer, request: FastifyRequest): Actor {
  return { kind: 'user', name: session.userName, org: session.userOrg, app: null, address: request.ip };
}

/** Checks a password. Returns a problem to display if it is wrong. All forms share the rate limit. */
export async function tryPassword(
  { accounts, limits }: DashboardContext,
  request: FastifyRequest,
  name: string,
  password: string,
): Promise<{ user: User } | { problem: string; seconds?: number }> {
  const seconds = limits.take(request.ip, name, accounts.users.named(name) !== null);
  if (seconds > 0) return { problem: `Too many attempts. Wait ${waitingTime(seconds)}, then try again.`, seconds };
  try {
    const user = await accounts.users.withPassword(name, password);
    if (!user) return { problem: 'Wrong name or password.' };
    limits.succeeded(request.ip, name);
    return { user };
  } catch (error) {
    if (error instanceof TooManyPasswords)
      return { problem: 'Too many sign-ins at the moment. Try again in a few seconds.', seconds: 5 };
    throw error;
  }
}

function waitingTime(seconds: number): string {
  return seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
