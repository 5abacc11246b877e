/** Sign-in, sign-out, and setting a password with a one-time link. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { type Html, html } from '../../http/html.js';
import { checkPassword, MIN_PASSWORD_LENGTH } from '../accounts/password.js';
import type { User } from '../accounts/users.js';
import { type DashboardContext, formRoute, nextUrl, tryPassword } from './context.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { OIDC_URL, SIGN_IN_URL } from './guard.js';
import { BASE, type Notice, sendPage, tokenField } from './page.js';
import { FORM_LIMIT, SentForm } from './sent-form.js';

export function signInRoutes(app: FastifyInstance, context: DashboardContext): void {
  signInRoute(app, context);
  setupRoute(app, context);
  formRoute(app, context, `${BASE}/sign-out`, 'any', (request, reply, { session }) => {
    context.guard.signOut(request, reply, session);
    return reply.redirect(SIGN_IN_URL, 303);
  });
}

function signInRoute(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, guard } = context;
  const failures = new FailedSignIns(accounts.audit);
  app.get(SIGN_IN_URL, async (request, reply) => {
    const next = nextUrl((request.query as { next?: unknown }).next);
    if (guard.viewer(request)) return reply.redirect(next, 303);
    return sendSignInPage(context, request, reply, { next, name: '' }, null);
  });
  app.post(SIGN_IN_URL, { bodyLimit: FORM_LIMIT }, async (request, reply) => {
    guard.checkForm(request, 'visit');
    const form = new SentForm(request.body);
    const [name, next] = [form.text('name').slice(0, 100), nextUrl(form.text('next'))];
    const tried = await tryPassword(context, request, name, form.exact('password'));
    if ('problem' in tried) {
      if (tried.seconds === undefined) failures.add(name, request.ip);
      else reply.header('retry-after', tried.seconds);
      reply.code(tried.seconds === undefined ? 401 : 429);
      return sendSignInPage(context, request, reply, { next, name }, { kind: 'bad', text: tried.problem });
    }
    beginSession(context, request, reply, tried.user);
    return reply.redirect(next, 303);
  });
}

export function sendSignInPage(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  form: { next: string; name: string },
  notice: Notice | null,
): FastifyReply {
  const body = signInForm(context, context.guard.visitToken(request, reply), form);
  return sendPage(reply, { title: 'Sign in', notice, body });
}

/** Replaces the current session. */
export function beginSession(
  { accounts, guard }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, name, org }: User,
  detail: Readonly<Record<string, string>> = {},
): void {
  const before = guard.viewer(request);
  if (before) accounts.sessions.end(before.session.userId, before.session.id);
  guard.signIn(request, reply, id);
  const actor = { kind: 'user', name, org, app: null, address: request.ip } as const;
  accounts.audit.add({ actor, action: 'sign_in', org, subject: name, detail });
}

function setupRoute(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, guard } = context;
  const url = `${BASE}/setup/:secret`;
  const secretOf = (request: FastifyRequest) => (request.params as { secret: string }).secret.slice(0, 100);
  const show = (request: FastifyRequest, reply: FastifyReply, notice?: Notice) => {
    const user = accounts.users.ofLink(secretOf(request));
    if (!user) return sendPage(reply.code(404), { title: 'Set password', body: usedLink() });
    const body = setupForm(guard.visitToken(request, reply), user.name, request.url);
    return sendPage(reply, { title: 'Set password', notice: notice ?? null, body });
  };
  app.get(url, async (request, reply) => show(request, reply));
  app.post(url, { bodyLimit: FORM_LIMIT }, async (request, reply) => {
    guard.checkForm(request, 'visit');
    const form = new SentForm(request.body);
    const problem = problemWith(form.exact('password'), form.exact('again'));
    if (problem) return show(request, reply.code(400), { kind: 'bad', text: problem });
    const user = await accounts.users.setPasswordByLink(secretOf(request), form.exact('password'));
    if (!user) return show(request, reply);
    context.limits.succeeded(request.ip, user.name);
    guard.signIn(request, reply, user.id);
    const { name, org } = user;
    const actor = { kind: 'user', name, org, app: null, address: request.ip } as const;
    accounts.audit.add({ actor, action: 'password.set', org, subject: name, detail: { by: 'link' } });
    return reply.redirect(`${BASE}/keys`, 303);
  });
}

/** Returns null for an acceptable password. */
export function problemWith(password: string, again: string): string | null {
  if (password !== again) return 'The passwords do not match.';
  try {
    checkPassword(password);
    return null;
  } catch (error) {
    if (error instanceof ChasquiError) return error.message;
    throw error;
  }
}

function signInForm(
  { accounts, oidc, publicUrl }: DashboardContext,
  token: string,
  { next, name }: { next: string; name: string },
): Html {
  return html`<form class="card narrow" method="post" action="${SIGN_IN_URL}">
<h1>Sign in</h1>
${
  accounts.needsSetup() &&
  html`<p class="hint">No password is set yet. Open the one-time link that the cloud printed at its start, or create
another with <code>chasqui cloud setup-link</code>.</p>`
}
${
  oidc &&
  html`<a class="button primary wide" href="${publicUrl()}${OIDC_URL}?next=${encodeURIComponent(next)}">Sign in with ${oidc.name}</a>
<p class="hint">Or use a password:</p>`
}
${tokenField(token)}<input type="hidden" name="next" value="${next}">
<label>Name<input name="name" value="${name || 'owner'}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="64"></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required maxlength="1024" autofocus></label>
<button class="primary wide">Sign in</button>
<p class="hint">Forgot it? Run <code>chasqui cloud setup-link</code> on the cloud's machine to create a link for a new one.</p>
</form>`;
}

function setupForm(token: string, name: string, action: string): Html {
  return html`<form class="card narrow" method="post" action="${action}">
<h1>Set your password</h1>
<p class="hint">Your name for signing in is <strong>${name}</strong>. This link works once.</p>
${tokenField(token)}<input type="hidden" name="username" value="${name}" autocomplete="username">
${newPasswordFields()}
<button class="primary wide">Set password and sign in</button>
</form>`;
}

export function newPasswordFields(): Html {
  return html`<label>New password<input name="password" type="password" autocomplete="new-password" required
minlength="${MIN_PASSWORD_LENGTH}" maxlength="1024" aria-describedby="password-hint"></label>
<p class="hint" id="password-hint">At least ${MIN_PASSWORD_LENGTH} characters; use a passphrase.</p>
<label>Repeat password<input name="again" type="password" autocomplete="new-password" required maxlength="1024"></label>`;
}

function usedLink(): Html {
  return html`<div class="card narrow"><h1>This link is no longer valid</h1>
<p>Links for setting a password work once: invitations for seven days, others for half an hour. Ask an owner of your
organisation for another invitation, or create a link on the cloud's machine:</p>
<pre class="command"><code>chasqui cloud setup-link</code></pre>
<p><a class="button" href="${SIGN_IN_URL}">Sign in</a></p></div>`;
}
