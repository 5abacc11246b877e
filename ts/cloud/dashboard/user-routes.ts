/** `/dashboard/users`: members, their roles and invitations. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { type Html, html } from '../../http/html.js';
import { ROLE_NAMES } from '../../keys/key-settings.js';
import { toRole } from '../accounts/parse-input.js';
import { inviteUser, removeUser, resetSignIn, visibleUsers } from '../accounts/user-changes.js';
import type { User } from '../accounts/users.js';
import { actorOf, type DashboardContext, formRoute, pageRoute } from './context.js';
import { timeTag } from './format.js';
import { copyable } from './key-pages.js';
import { BASE, confirmed, heading, type Notice, sendPage, tokenField, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';

const URL = `${BASE}/users`;

const ROLE_WORDS: Readonly<Record<string, string>> = {
  viewer: 'Viewer: sees apps, logs, keys and usage',
  developer: 'Developer: also calls, deploys, scales and restarts apps',
  owner: 'Owner: also manages keys, users and the audit',
};

export function userRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, publicUrl } = context;
  pageRoute(app, context, URL, 'admin', (request, reply, viewer) => show(context, request, reply, viewer, null));
  formRoute(app, context, URL, 'admin', (request, reply, viewer) => {
    const form = new SentForm(request.body);
    try {
      const { user, path } = inviteUser(accounts, actorOf(viewer, request), {
        name: form.text('name'),
        org: form.text('org') || viewer.session.userOrg,
        role: toRole(form.text('role')),
      });
      return sendPage(reply, {
        title: 'Invitation',
        at: 'users',
        viewer,
        body: linkPage(user, publicUrl() + path, context),
      });
    } catch (error) {
      if (!(error instanceof ChasquiError) || error.code !== 'invalid_value') throw error;
      const notice: Notice = {
        kind: 'bad',
        text: error.message.replace('`name`', 'The name').replace('`org`', 'The organisation'),
      };
      return show(context, request, reply.code(400), viewer, notice);
    }
  });
  formRoute(app, context, `${URL}/:id/remove`, 'admin', (request, reply, viewer) => {
    const { id } = request.params as { id: string };
    if (id === viewer.session.userId) throw new ChasquiError('permission_denied', 'You cannot remove yourself.');
    removeUser(accounts, actorOf(viewer, request), id);
    return reply.redirect(URL, 303);
  });
  formRoute(app, context, `${URL}/:id/reset-sign-in`, 'admin', (request, reply, viewer) => {
    resetSignIn(accounts, actorOf(viewer, request), (request.params as { id: string }).id);
    return reply.redirect(URL, 303);
  });
}

function show(
  { accounts }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  viewer: Viewer,
  notice: Notice | null,
) {
  const users = visibleUsers(accounts, actorOf(viewer, request));
  const body = html`${heading('Users', null, 'Members sign in here. Their role decides what they see and change.')}
<div class="table" role="region" aria-label="Table of users" tabindex="0"><table class="cards"><caption class="unseen">Users</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Organisation</th><th scope="col">Role</th><th scope="col">State</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
<tbody>${users.map((user) => userRow(user, viewer))}</tbody></table></div>
${invitationForm(viewer)}`;
  return sendPage(reply, { title: 'Users', at: 'users', viewer, notice, body });
}

function userRow(user: User, { session, formToken }: Viewer): Html {
  const { id, name, org, role, oidcIssuer, createdAt } = user;
  return html`<tr><th scope="row">${name}<span class="sub">added ${timeTag(createdAt)}</span></th>
<td data-label="Organisation">${org ?? 'All'}</td><td data-label="Role"><span class="badge">${role}</span></td>
<td data-label="State">${signInOf(user)}</td>
<td class="last">${
    oidcIssuer !== null &&
    confirmed({
      label: 'Reset sign-in',
      what: `${name} is signed out. The next account of the provider that has this address signs in as ${name}.`,
      action: `${URL}/${id}/reset-sign-in`,
      button: 'Reset sign-in',
      formToken,
    })
  }${
    id !== session.userId &&
    confirmed({
      label: 'Remove',
      what: `${name} is signed out and can no longer sign in. Keys stay valid.`,
      action: `${URL}/${id}/remove`,
      button: 'Remove user',
      formToken,
    })
  }</td></tr>`;
}

function signInOf({ hasPassword, oidcIssuer }: User): Html | string {
  if (oidcIssuer !== null) return `Signs in with ${new globalThis.URL(oidcIssuer).host}`;
  return hasPassword ? 'Has a password' : html`<span class="faint">Invited</span>`;
}

function invitationForm({ session, formToken }: Viewer): Html {
  const { userOrg } = session;
  return html`<form class="card form" method="post" action="${URL}">${tokenField(formToken)}
<h2>Invite a user</h2>
<p class="hint">The next page has a link for setting a password. For a known name, it also changes the role.</p>
<div class="pair"><label>Name<input name="name" required maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false"></label>
<label><span>Organisation${userOrg === null && html` <span class="faint">(empty: all)</span>`}</span><input name="org" value="${userOrg ?? ''}" maxlength="100" autocomplete="off" spellcheck="false"${userOrg !== null && html` readonly`}></label></div>
<label>Role<select name="role">${[...ROLE_NAMES].reverse().map((role) => html`<option value="${role}">${ROLE_WORDS[role] ?? role}</option>`)}</select></label>
<div class="actions"><button class="primary">Create invitation</button></div></form>`;
}

function linkPage({ name, org, role, hasPassword }: User, link: string, { oidc }: DashboardContext): Html {
  return html`${heading(`Invitation of ${name}`)}
<div class="card shown"><p><strong>This is the only time that the link is shown.</strong> Send it to ${name}: it sets the
password for ${role} of ${org ?? 'all organisations'}, once, within ${hasPassword ? 'half an hour' : 'seven days'}.</p>
${copyable('link', 'Link', link)}
${oidc && name.includes('@') && html`<p class="hint">${name} can also sign in with ${oidc.name}, without this link.</p>`}
<div class="actions"><a class="button" href="${URL}">I have copied it</a></div></div>`;
}
