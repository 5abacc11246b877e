/** `/dashboard/budgets`: monthly budgets of organisations and keys. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError, ERRORS } from '../../errors.js';
import { type Html, html } from '../../http/html.js';
import type { ApiKey } from '../../keys/key-store.js';
import { visibleKeys } from '../accounts/key-changes.js';
import { may } from '../accounts/sessions.js';
import { mayChange, removeBudget, setBudget, visibleBudgets } from '../budgets/budget-changes.js';
import { addressOf, type DeliveredAlert, type Delivery } from '../budgets/budget-store.js';
import type { BudgetState } from '../budgets/budgets.js';
import { actorOf, type DashboardContext, formRoute, pageRoute } from './context.js';
import { shortNumber, timeTag, wholeNumber } from './format.js';
import { BASE, confirmed, emptyState, heading, type Notice, sendPage, tokenField, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';

const URL = `${BASE}/budgets`;

export function budgetRoutes(app: FastifyInstance, context: DashboardContext): void {
  pageRoute(app, context, URL, 'read', (request, reply, viewer) => show(context, request, reply, viewer, null));
  formRoute(app, context, URL, 'admin', (request, reply, viewer) => {
    const form = new SentForm(request.body);
    const name = { org: form.text('org') || (viewer.session.userOrg ?? ''), keyId: form.text('key') };
    const change = () => setBudget(context, actorOf(viewer, request), name, toBody(form));
    return changed(context, request, reply, viewer, change);
  });
  formRoute(app, context, `${URL}/remove`, 'admin', (request, reply, viewer) => {
    const form = new SentForm(request.body);
    const name = { org: form.text('org'), keyId: form.text('key') };
    const change = () => removeBudget(context, actorOf(viewer, request), name);
    return changed(context, request, reply, viewer, change);
  });
}

/** Shows invalid changes on the page; other errors have their own page. */
function changed(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  viewer: Viewer,
  change: () => void,
) {
  try {
    change();
    return reply.redirect(URL, 303);
  } catch (error) {
    if (!(error instanceof ChasquiError) || ERRORS[error.code].status !== 400) throw error;
    return show(context, request, reply.code(400), viewer, { kind: 'bad', text: withLabels(error) });
  }
}

function toBody(form: SentForm): object {
  const [webhook, email] = [form.text('webhook'), form.text('email')];
  const numbers = ['tokens', 'requests', 'warn_percent'].map((name) => [name, numberOf(form.text(name))]);
  const given = Object.fromEntries(numbers.filter(([, value]) => value !== null));
  return { ...given, ...(webhook && { webhook }), ...(email && { email }) };
}

/** The schema refuses other texts. */
function numberOf(text: string): number | string | null {
  const digits = text.replace(/[\s_,]/g, '');
  if (digits === '') return null;
  return /^\d{1,15}$/.test(digits) ? Number(digits) : text;
}

const LABELS: Readonly<Record<string, string>> = {
  org: 'The organisation',
  tokens: 'Tokens per month',
  requests: 'Requests per month',
  warn_percent: 'The share of the warning',
  webhook: 'The webhook',
  email: 'The e-mail address',
};

function withLabels({ message, param }: ChasquiError): string {
  const label = LABELS[param ?? ''];
  return label ? message.replace(`\`${param}\``, label) : message;
}

function show(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  viewer: Viewer,
  notice: Notice | null,
) {
  const actor = actorOf(viewer, request);
  const budgets = visibleBudgets(context, actor);
  const keys = visibleKeys(context.accounts, actor).filter(({ revokedAt }) => revokedAt === null);
  const under = 'Limits per calendar month (UTC). Requests beyond a limit are refused until the month ends.';
  const body = html`${heading('Budgets', null, under)}
${budgets.length > 0 ? table(budgets, keys, viewer) : emptyState('No budgets', 'Tokens and requests are not limited per month.')}
${may(viewer.session, 'admin') && budgetForm(keys, viewer, context.budgets.sendsMail)}`;
  return sendPage(reply, { title: 'Budgets', at: 'budgets', viewer, notice, body });
}

function table(budgets: readonly BudgetState[], keys: readonly ApiKey[], viewer: Viewer): Html {
  return html`<div class="table" role="region" aria-label="Table of budgets" tabindex="0"><table class="cards"><caption class="unseen">Budgets of this month</caption>
<thead><tr><th scope="col">Budget of</th><th scope="col">Tokens</th><th scope="col">Requests</th><th scope="col">Warning</th><th scope="col">Alerts</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
<tbody>${budgets.map((budget) => row(budget, keys, viewer))}</tbody></table></div>`;
}

function row(budget: BudgetState, keys: readonly ApiKey[], { session, formToken }: Viewer): Html {
  const { org, keyId, tokens, requests, used, warnPercent, isFixed, alerts } = budget;
  const key = keys.find(({ id }) => id === keyId);
  const sub = keyId === '' ? 'all requests' : html`key ${key?.name ?? ''} <code>${keyId}</code>`;
  return html`<tr><th scope="row">${org}<span class="sub">${sub}${isFixed && ' · set by the operator'}</span></th>
<td data-label="Tokens">${share(used.tokens, tokens, 'Tokens')}</td><td data-label="Requests">${share(used.requests, requests, 'Requests')}</td>
<td data-label="Warning">at ${warnPercent} %<span class="sub">${targetsOf(budget) || 'no alerts by mail or webhook'}</span></td>
<td data-label="Alerts">${alerts.length > 0 ? alerts.map(alertLine) : html`<span class="faint">None</span>`}</td>
<td class="last">${
    may(session, 'admin') &&
    mayChange(budget, { org: session.userOrg }) &&
    confirmed({
      label: 'Remove',
      what: 'Requests are no longer limited by this budget.',
      action: `${URL}/remove`,
      button: 'Remove budget',
      formToken,
      fields: { org, key: keyId },
    })
  }</td></tr>`;
}

function targetsOf({ webhook, email }: BudgetState): string {
  return [webhook && new globalThis.URL(webhook).host, email].filter(Boolean).join(', ');
}

function share(used: number, limit: number | null, label: string): Html {
  if (limit === null) return html`${shortNumber(used)}<span class="sub">no limit</span>`;
  const percent = Math.floor((100 * used) / limit);
  return html`<span title="${wholeNumber(used)} of ${wholeNumber(limit)}">${shortNumber(used)} of ${shortNumber(limit)}</span>
<span class="sub"><meter min="0" max="${limit}" value="${Math.min(used, limit)}" aria-label="${label}">${percent} %</meter> ${percent} %</span>`;
}

function alertLine({ unit, level, at, deliveries }: DeliveredAlert): Html {
  return html`<div><span class="state ${level === 'limit' ? 'bad' : 'busy'}">${level === 'limit' ? 'Limit' : 'Warning'}</span> ${unit}, ${timeTag(at / 1000)}${deliveries.map(deliveryLine)}</div>`;
}

function deliveryLine(delivery: Delivery): Html {
  const { due, error } = delivery;
  const state = error === null ? (due === null ? 'sent' : 'sending') : `not sent: ${error}`;
  return html`<span class="sub">${addressOf(delivery) === null ? 'Webhook' : 'E-mail'} ${state}</span>`;
}

function budgetForm(keys: readonly ApiKey[], { session, formToken }: Viewer, sendsMail: boolean): Html {
  const { userOrg } = session;
  return html`<form class="card form" method="post" action="${URL}">${tokenField(formToken)}
<h2>Set a budget</h2>
<div class="pair"><label>Organisation<input name="org" value="${userOrg ?? ''}" required maxlength="100" autocomplete="off" spellcheck="false"${userOrg !== null && html` readonly`}></label>
<label><span>Key <span class="faint">(none: all requests)</span></span><select name="key"><option value="">All requests</option>${keys.map(
    ({ id, name }) => html`<option value="${id}">${name ?? 'Unnamed'} (${id})</option>`,
  )}</select></label>
<label>Tokens per month<input name="tokens" inputmode="numeric" placeholder="no limit" maxlength="20" autocomplete="off"></label>
<label>Requests per month<input name="requests" inputmode="numeric" placeholder="no limit" maxlength="20" autocomplete="off"></label>
<label>Warn at, %<input name="warn_percent" inputmode="numeric" placeholder="80" maxlength="3" autocomplete="off"></label>
<label><span>Webhook <span class="faint">(https)</span></span><input name="webhook" type="url" maxlength="2048" autocomplete="off" spellcheck="false"></label>
${sendsMail && html`<label>E-mail<input name="email" type="email" maxlength="254" autocomplete="off"></label>`}</div>
<p class="hint">Webhooks need the secret <code>WEBHOOK_KEY</code> of the organisation, which signs them.</p>
<div class="actions"><button class="primary">Set budget</button></div></form>`;
}
