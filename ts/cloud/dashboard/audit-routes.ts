import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../http/html.js';
import type { AuditRow } from '../accounts/audit.js';
import { auditQuery } from '../accounts/parse-input.js';
import { type DashboardContext, pageRoute } from './context.js';
import { timeTag } from './format.js';
import { BASE, emptyState, heading, sendPage } from './page.js';

const ROWS = 100;

export function auditRoutes(app: FastifyInstance, context: DashboardContext): void {
  pageRoute(app, context, `${BASE}/audit`, 'admin', (request, reply, viewer) => {
    const { before } = auditQuery(request.query);
    const rows = context.accounts.audit.list({ org: viewer.session.userOrg, before: before ?? null, limit: ROWS });
    const last = rows.length === ROWS ? rows.at(-1)?.id : undefined;
    const body = html`${heading('Audit', null, 'All changes by people and keys. Entries cannot be edited or removed.')}
${rows.length > 0 ? table(rows) : emptyState('No entries', 'Changes appear here.')}
<div class="actions">${before && html`<a class="button quiet" href="${BASE}/audit">Newest</a>`}
${last !== undefined && html`<a class="button quiet" href="${BASE}/audit?before=${last}">Older</a>`}</div>`;
    return sendPage(reply, { title: 'Audit', at: 'audit', viewer, body });
  });
}

function table(rows: readonly AuditRow[]): Html {
  return html`<div class="table" role="region" aria-label="Audit" tabindex="0"><table class="cards"><caption class="unseen">Changes, newest first</caption>
<thead><tr><th scope="col">Action</th><th scope="col">Subject</th><th scope="col">Actor</th><th scope="col">Time</th><th scope="col">Details</th></tr></thead>
<tbody>${rows.map(
    ({ at, actor, address, action, subject, detail }) => html`<tr>
<th scope="row"><span class="action">${actionLabel(action)}</span></th>
<td data-label="Subject"><code>${subject}</code></td>
<td data-label="Actor">${actor.replace(/^(user|local|nobody):/, '')}${address && html`<span class="sub">${address}</span>`}</td>
<td data-label="When">${timeTag(at)}</td>
<td data-label="More">${details(detail)}</td></tr>`,
  )}</tbody></table></div>`;
}

const WORDS: Readonly<Record<string, string>> = {
  'key.create': 'Created a key',
  'key.revoke': 'Revoked a key',
  'password.set': 'Set a password',
  'session.end': 'Ended a session',
  'session.end_all': 'Signed out everywhere',
  'budget.set': 'Set a budget',
  'budget.remove': 'Removed a budget',
  'user.link': 'Invited a user',
  'user.remove': 'Removed a user',
  'user.reset_sign_in': 'Reset the sign-in of a user',
  sign_in: 'Signed in',
  'sign_in.failed': 'Failed sign-in',
};

/** Unlisted actions are shown by name, such as `app.roll_back`. */
function actionLabel(action: string): string {
  return WORDS[action] ?? action.replace(/[._]/g, ' ').replace(/^\w/, (first) => first.toUpperCase());
}

function details(detail: Readonly<Record<string, unknown>>): Html {
  const told = Object.entries(detail).filter(([, value]) => value !== null && value !== '');
  return html`${told.map(([name, value], index) => {
    const text = typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
    return html`${index > 0 && ' · '}<span class="faint">${name.replaceAll('_', ' ')}</span> ${text}`;
  })}`;
}
