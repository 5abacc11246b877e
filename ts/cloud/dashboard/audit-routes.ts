/** The page of the audit. */
import type { FastifyInstance } from 'fastify';
import type { AuditRow } from '../accounts/audit.js';
import { auditQuery } from '../accounts/parse-input.js';
import { type DashboardContext, signedIn } from './context.js';
import { type Html, html } from './html.js';
import { BASE, emptyState, heading, sendPage } from './page.js';
import { timeTag } from './words.js';

const ROWS = 100;

export function auditRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get(
    `${BASE}/audit`,
    signedIn(context, (request, reply, viewer) => {
      const { before } = auditQuery(request.query);
      const rows = context.accounts.audit.list({ before: before ?? null, limit: ROWS });
      const last = rows.length === ROWS ? rows.at(-1)?.id : undefined;
      const body = html`${heading('Audit', null, 'Who changed what. Rows are added only; nobody can change or remove one.')}
${rows.length > 0 ? table(rows) : emptyState('Nothing here', 'What is changed from now on is listed here.')}
<div class="actions">${before && html`<a class="button quiet" href="${BASE}/audit">Newest</a>`}
${last !== undefined && html`<a class="button quiet" href="${BASE}/audit?before=${last}">Older</a>`}</div>`;
      return sendPage(reply, { title: 'Audit', at: 'audit', viewer, body });
    }),
  );
}

function table(rows: readonly AuditRow[]): Html {
  return html`<div class="table" role="region" aria-label="Audit" tabindex="0"><table class="cards"><caption class="hidden">Changes, the newest first</caption>
<thead><tr><th scope="col">What</th><th scope="col">Of what</th><th scope="col">Who</th><th scope="col">When</th><th scope="col">More</th></tr></thead>
<tbody>${rows.map(
    ({ at, actor, address, action, subject, detail }) => html`<tr>
<th scope="row"><span class="action">${inWords(action)}</span></th>
<td data-label="Of what"><code>${subject}</code></td>
<td data-label="Who">${actor.replace(/^(user|local|nobody):/, '')}${address && html`<span class="sub">${address}</span>`}</td>
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
  'user.link': 'Made a setup link',
  'user.remove': 'Removed a person',
  sign_in: 'Signed in',
  'sign_in.failed': 'Could not sign in',
};

/** Other rooms of the cloud name their own; `app.roll_back` reads well enough. */
function inWords(action: string): string {
  return WORDS[action] ?? action.replace(/[._]/g, ' ').replace(/^\w/, (first) => first.toUpperCase());
}

function details(detail: Readonly<Record<string, unknown>>): Html {
  const told = Object.entries(detail).filter(([, value]) => value !== null && value !== '');
  return html`${told.map(([name, value], index) => {
    const text = typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
    return html`${index > 0 && ' · '}<span class="faint">${name.replaceAll('_', ' ')}</span> ${text}`;
  })}`;
}
