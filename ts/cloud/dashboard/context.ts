/** What all routes of the dashboard share. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.js';
import type { Actor } from '../accounts/audit.js';
import { TooManyPasswords } from '../accounts/password.js';
import { SignInLimits } from '../accounts/sign-in-limits.js';
import type { User } from '../accounts/users.js';
import type { AppsView } from './apps-view.js';
import { Guard, SIGN_IN_URL } from './guard.js';
import { BASE, type Viewer } from './page.js';
import { ShownOnce } from './shown-once.js';

export interface DashboardParts {
  accounts: Accounts;
  apps: AppsView;
  /** Where browsers and clients reach the cloud, without a slash at the end. */
  publicUrl: () => string;
  /** Called with what was thrown and is the server's own error. */
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

/** A page for those who are signed in; others sign in first and come back to it. */
export function signedIn({ guard }: DashboardContext, handler: Handler) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const viewer = guard.viewer(request);
    if (!viewer) return reply.redirect(signInUrl(request.url), 303);
    return handler(request, reply, viewer);
  };
}

/** A change by those who are signed in, sent by a form of ours. */
export function changing({ guard }: DashboardContext, handler: Handler) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const viewer = guard.viewer(request);
    if (!viewer) return reply.redirect(SIGN_IN_URL, 303);
    guard.checkForm(request, 'session');
    return handler(request, reply, viewer);
  };
}

function signInUrl(url: string): string {
  return url === BASE || url.length > 500 ? SIGN_IN_URL : `${SIGN_IN_URL}?next=${encodeURIComponent(url)}`;
}

/** Where to go after signing in: a page of ours, whatever the address says. */
export function nextUrl(next: unknown): string {
  const isOurs = typeof next === 'string' && /^\/dashboard\/[\w/.?=&%-]{0,500}$/.test(next) && !next.includes('//');
  return isOurs ? next : `${BASE}/apps`;
}

export function actorOf({ session }: Viewer, request: FastifyRequest): Actor {
  return { kind: 'user', name: session.userName, org: null, app: null, address: request.ip };
}

/**
 * Whether it is the person's password; otherwise what to say. Tries are counted here, so that no form is a way around
 * the limits.
 */
export async function tryPassword(
  { accounts, limits }: DashboardContext,
  request: FastifyRequest,
  name: string,
  password: string,
): Promise<{ user: User } | { problem: string; seconds?: number }> {
  const seconds = limits.take(request.ip, name, accounts.users.named(name) !== null);
  if (seconds > 0) return { problem: `Too many tries. Wait ${waitingTime(seconds)}, then try again.`, seconds };
  try {
    const user = await accounts.users.withPassword(name, password);
    if (!user) return { problem: 'That is not the right name and password.' };
    limits.succeeded(request.ip, name);
    return { user };
  } catch (error) {
    if (error instanceof TooManyPasswords)
      return { problem: 'Many are signing in. Try again in a moment.', seconds: 5 };
    throw error;
  }
}

function waitingTime(seconds: number): string {
  return seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
