/** The account page: password and sessions. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Html, html } from '../../http/html.js';
import { actorOf, type DashboardContext, formRoute, pageRoute, tryPassword } from './context.js';
import { timeTag } from './format.js';
import { SIGN_IN_URL } from './guard.js';
import { BASE, heading, type Notice, sendPage, tokenField, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';
import { newPasswordFields, problemWith } from './sign-in-routes.js';

const URL = `${BASE}/account`;

export function accountRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, guard } = context;
  pageRoute(app, context, URL, 'any', (request, reply, viewer) => {
    const isChanged = (request.query as { changed?: unknown }).changed === 'password';
    return show(context, reply, viewer, isChanged ? CHANGED : null);
  });
  passwordRoute(app, context);
  formRoute(app, context, `${URL}/sessions/:id/end`, 'any', (request, reply, viewer) => {
    const { id } = request.params as { id: string };
    const { userId, userName } = viewer.session;
    if (accounts.sessions.end(userId, id)) {
      accounts.audit.add({ actor: actorOf(viewer, request), action: 'session.end', subject: userName });
    }
    return reply.redirect(URL, 303);
  });
  formRoute(app, context, `${URL}/sign-out-everywhere`, 'any', (request, reply, viewer) => {
    const { session } = viewer;
    accounts.sessions.endAll(session.userId);
    accounts.audit.add({ actor: actorOf(viewer, request), action: 'session.end_all', subject: session.userName });
    guard.signOut(request, reply, session);
    return reply.redirect(SIGN_IN_URL, 303);
  });
}

const CHANGED: Notice = { kind: 'good', text: 'Password changed. All other sessions were signed out.' };

function passwordRoute(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, guard } = context;
  formRoute(app, context, `${URL}/password`, 'any', async (request, reply, viewer) => {
    const { session } = viewer;
    const form = new SentForm(request.body);
    const refuse = (status: number, text: string) => show(context, reply.code(status), viewer, { kind: 'bad', text });
    const problem = problemWith(form.exact('password'), form.exact('again'));
    if (problem) return refuse(400, problem);
    const tried = await tryPassword(context, request, session.userName, form.exact('current'));
    if ('problem' in tried) {
      const isWrong = tried.seconds === undefined;
      return refuse(isWrong ? 403 : 429, isWrong ? 'The current password is wrong.' : tried.problem);
    }
    await accounts.users.setPassword(session.userId, form.exact('password'));
    accounts.audit.add({ actor: actorOf(viewer, request), action: 'password.set', subject: session.userName });
    guard.signIn(request, reply, session.userId);
    return reply.redirect(`${URL}?changed=password`, 303);
  });
}

function show({ accounts, oidc }: DashboardContext, reply: FastifyReply, viewer: Viewer, notice: Notice | null) {
  const { session, formToken } = viewer;
  const sessions = accounts.sessions.list(session.userId);
  const body = html`${heading(
    'Account',
    null,
    html`You sign in with the name <strong>${session.userName}</strong>. Your role is ${session.userRole} of ${
      session.userOrg ?? 'all organisations'
    }.`,
  )}
<section class="card form" aria-labelledby="password-heading"><h2 id="password-heading">Password</h2>
${
  oidc && accounts.users.find(session.userId)?.hasPassword === false
    ? html`<p>You have no password. You sign in with ${oidc.name}.</p>`
    : passwordForm(viewer)
}</section>
<section class="card" aria-labelledby="sessions-heading"><h2 id="sessions-heading">Sessions</h2>
<ul class="rows">${sessions.map((each) => sessionRow(each, viewer))}</ul>
<form method="post" action="${URL}/sign-out-everywhere" class="actions">${tokenField(formToken)}<button class="danger">Sign out everywhere</button></form></section>`;
  return sendPage(reply, { title: 'Account', at: 'account', viewer, notice, body });
}

function passwordForm({ session, formToken }: Viewer): Html {
  return html`<form method="post" action="${URL}/password">${tokenField(formToken)}
<input type="hidden" name="username" value="${session.userName}" autocomplete="username">
<label>Current password<input name="current" type="password" autocomplete="current-password" required maxlength="1024"></label>
${newPasswordFields()}
<div class="actions"><button class="primary">Change password</button></div></form>`;
}

function sessionRow(each: Viewer['session'], { session, formToken }: Viewer): Html {
  const isThis = each.id === session.id;
  const name = browserName(each.browser);
  return html`<li><div><strong>${name}</strong>${isThis && html` <span class="badge">this session</span>`}
<span class="sub">${each.address} · signed in ${timeTag(each.createdAt)} · seen ${timeTag(each.seenAt)}</span></div>
${
  !isThis &&
  html`<form method="post" action="${URL}/sessions/${each.id}/end">${tokenField(formToken)}<button class="quiet">Sign out<span class="unseen"> ${name} at ${each.address}</span></button></form>`
}</li>`;
}

/**
 * Browser and system from a user agent. The order matters: each name also occurs in the user agents of those before it.
 */
function browserName(browser: string): string {
  const known = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => browser.includes(`${name}/`));
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' };
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'].find((name) => browser.includes(name));
  const name = known === undefined ? browser.slice(0, 40) || 'Unknown' : (names[known] ?? known);
  return system === undefined ? name : `${name} on ${system.replace(' OS X', '')}`;
}
