/** Keys: list, form, and the page that shows a new key once. */

import { type Html, html } from '../../http/html.js';
import { type ApiKey, isValid } from '../../keys/key-store.js';
import { may } from '../accounts/sessions.js';
import type { AppSummary } from '../apps/views.js';
import { inBytes, shortNumber, timeTag } from './format.js';
import { BASE, confirmed, emptyState, heading, type PageParts, tokenField, type Viewer } from './page.js';

/** Raw values of the form for a new key. */
export interface KeyForm {
  name: string;
  org: string;
  app: string;
  scopes: readonly string[];
  expires: string;
  date: string;
  requestsPerMinute: string;
  tokensPerMinute: string;
  concurrency: string;
  bodyMib: string;
}

const SCOPE_WORDS = [
  ['call', 'Call apps', 'Chat, completions and embeddings of private apps'],
  ['deploy', 'Deploy', 'Deploy, roll back, scale and restart apps'],
  ['read', 'Read', 'See apps, keys and usage'],
  ['admin', 'Manage keys', 'Create and revoke keys, read the audit'],
] as const;

export function keyListPage(viewer: Viewer, keys: readonly ApiKey[], now = Date.now() / 1000): PageParts {
  const newest = [...keys].reverse();
  const valid = newest.filter((key) => isValid(key, now));
  const past = newest.filter((key) => !isValid(key, now));
  const mayManage = may(viewer.session, 'admin');
  const make = mayManage && html`<a class="button primary" href="${BASE}/keys/new">Create key</a>`;
  const body = html`${heading('Keys', make, 'Clients of private apps send one with every request.')}
${
  valid.length > 0
    ? keyTable(valid, viewer, 'Valid keys')
    : emptyState(
        'No keys yet',
        html`A key lets a program call your private apps. ${
          mayManage ? html`<a href="${BASE}/keys/new">Create one</a>.` : 'An owner can create one.'
        }`,
      )
}
${
  past.length > 0 &&
  html`<details class="past"><summary class="toggle">${past.length} revoked or expired</summary>${keyTable(past, viewer, 'Revoked and expired keys')}</details>`
}`;
  return { title: 'Keys', at: 'keys', viewer, body };
}

function keyTable(keys: readonly ApiKey[], viewer: Viewer, caption: string): Html {
  return html`<div class="table" role="region" aria-label="${caption}" tabindex="0"><table class="cards"><caption class="unseen">${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Access to</th><th scope="col">Scopes</th><th scope="col">Limits</th>
<th scope="col">Last used</th><th scope="col">Expires</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
<tbody>${keys.map((key) => keyRow(key, viewer))}</tbody></table></div>`;
}

function keyRow(key: ApiKey, { session, formToken }: Viewer): Html {
  const { id, name, scopes, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const shown = name ?? 'Unnamed';
  const end = html`${expiresAt === null ? 'Never' : timeTag(expiresAt)}`;
  return html`<tr>
<th scope="row">${name ?? html`<span class="faint">${shown}</span>`}<span class="sub"><code>${id}</code> · created ${timeTag(createdAt)}</span></th>
<td data-label="Access to" class="sentence">${opens(key)}</td>
<td data-label="Scopes">${scopes.map((scope) => html`<span class="badge">${scope}</span> `)}</td>
<td data-label="Limits">${limitsOf(key)}</td>
<td data-label="Last used">${lastUsedAt === null ? html`<span class="faint">Never</span>` : timeTag(lastUsedAt)}</td>
<td data-label="Expires">${revokedAt === null ? end : html`<span class="state bad">Revoked</span> ${timeTag(revokedAt)}`}</td>
<td class="last">${
    revokedAt === null &&
    may(session, 'admin') &&
    confirmed({
      label: 'Revoke',
      what: `Programs that use “${shown}” lose access immediately. This cannot be undone.`,
      action: `${BASE}/keys/${id}/revoke`,
      button: 'Revoke key',
      formToken,
    })
  }</td></tr>`;
}

function opens({ org, app }: Pick<ApiKey, 'org' | 'app'>): Html {
  if (org === null) return html`every app`;
  return app === null ? html`all apps of <strong>${org}</strong>` : html`<strong>${org}/${app}</strong>`;
}

function limitsOf({ limits }: ApiKey): Html {
  const { requestsPerMinute, tokensPerMinute, concurrency, bodyBytes } = limits;
  const words = [
    requestsPerMinute !== null && `${shortNumber(requestsPerMinute)} requests/min`,
    tokensPerMinute !== null && `${shortNumber(tokensPerMinute)} tokens/min`,
    concurrency !== null && `${shortNumber(concurrency)} parallel requests`,
    bodyBytes !== null && `bodies up to ${inBytes(bodyBytes)}`,
  ].filter((word) => word !== false);
  return words.length === 0 ? html`<span class="faint">None</span>` : html`${words.join(', ')}`;
}

export interface NewKeyParts {
  viewer: Viewer;
  form: KeyForm;
  problem: string | null;
  /** Fields that confirm the identity; null: not needed. */
  confirmation: Html | null;
  apps: readonly AppSummary[];
  expiries: readonly (readonly [value: string, label: string])[];
}

export function newKeyPage({ viewer, form, problem, confirmation, apps, expiries }: NewKeyParts): PageParts {
  const { userOrg: ownOrg } = viewer.session;
  const orgs = [...new Set(apps.map(({ org }) => org))];
  const body = html`${heading('Create key')}
<form class="card form" method="post" action="${BASE}/keys">${tokenField(viewer.formToken)}
<label>Name<input name="name" value="${form.name}" required maxlength="100" autocomplete="off" placeholder="Its purpose, such as “staging website”"></label>
<fieldset><legend>Access</legend><div class="pair">
<label><span>Organisation${ownOrg === null && html` <span class="faint">(empty: all)</span>`}</span><input name="org" value="${form.org}" list="orgs" maxlength="100" autocomplete="off" spellcheck="false"${ownOrg !== null && html` readonly`}></label>
<label><span>App <span class="faint">(empty: all)</span></span><input name="app" value="${form.app}" list="apps" maxlength="100" autocomplete="off" spellcheck="false"></label></div>
<datalist id="orgs">${orgs.map((org) => html`<option value="${org}"></option>`)}</datalist>
<datalist id="apps">${apps.map(({ org, app }) => html`<option value="${app}">${org}/${app}</option>`)}</datalist></fieldset>
<fieldset><legend>Permissions</legend>${SCOPE_WORDS.map(
    ([scope, label, help]) =>
      html`<label class="choice"><input type="checkbox" name="scopes" value="${scope}"${form.scopes.includes(scope) ? html` checked` : ''}><span>${label}<span class="sub">${help}</span></span></label>`,
  )}</fieldset>
<fieldset><legend>Expiry</legend><div class="pair">
<label>Expires<select name="expires">${expiries.map(
    ([value, label]) =>
      html`<option value="${value}"${value === form.expires ? html` selected` : ''}>${label}</option>`,
  )}</select></label>
<label><span>Date <span class="faint">(for “on a date”)</span></span><input type="date" name="date" value="${form.date}"></label></div></fieldset>
<details class="more"${hasLimits(form) ? html` open` : ''}><summary class="toggle">Limits</summary><div class="pair">
${numberField('requests_per_minute', 'Requests per minute', form.requestsPerMinute)}
${numberField('tokens_per_minute', 'Tokens per minute', form.tokensPerMinute)}
${numberField('concurrency', 'Parallel requests', form.concurrency)}
${numberField('body_mib', 'Maximum body size, MiB', form.bodyMib)}</div></details>
${confirmation}
<div class="actions"><button class="primary">Create key</button><a class="button quiet" href="${BASE}/keys">Cancel</a></div>
</form>`;
  return {
    title: 'Create key',
    at: 'keys',
    viewer,
    notice: problem === null ? null : { kind: 'bad', text: problem },
    body,
  };
}

function hasLimits({ requestsPerMinute, tokensPerMinute, concurrency, bodyMib }: KeyForm): boolean {
  return [requestsPerMinute, tokensPerMinute, concurrency, bodyMib].some((text) => text !== '');
}

function numberField(name: string, label: string, value: string): Html {
  return html`<label>${label}<input name="${name}" value="${value}" inputmode="numeric" pattern="[0-9 _,]*" placeholder="no limit" maxlength="16" autocomplete="off"></label>`;
}

export function shownKeyPage(
  viewer: Viewer,
  key: string,
  made: ApiKey,
  publicUrl: string,
  apps: readonly AppSummary[],
): PageParts {
  const app = apps.find((each) => (made.org ?? each.org) === each.org && (made.app ?? each.app) === each.app);
  const url = app?.url ?? `${publicUrl}/${made.org ?? '<org_id>'}/${made.app ?? '<app_id>'}`;
  const canCall = made.scopes.includes('call');
  const body = html`${heading(made.name ?? 'Your key')}
<div class="card shown">
<p><strong>This is the only time that the key is shown.</strong> It is not stored: copy it now to where it will be used.</p>
${copyable('key', 'Key', key)}
${canCall && html`<h2>Try it</h2>${copyable('curl', 'Request', curlLine(url, app?.model ?? '<model>', key))}`}
<p class="hint">Access to ${opens(made)}; ${
    made.expiresAt === null ? 'never expires' : html`expires ${timeTag(made.expiresAt)}`
  }.</p>
<div class="actions"><a class="button" href="${BASE}/keys">I have copied it</a></div></div>`;
  return { title: 'Your new key', at: 'keys', viewer, body };
}

export function copyable(id: string, label: string, text: string): Html {
  return html`<div class="copyable"><pre id="${id}" tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre>
<button type="button" class="quiet" data-copy="${id}" data-label="${label}">Copy<span class="unseen"> ${label.toLowerCase()}</span></button></div>`;
}

/** A command to paste into a shell. */
function curlLine(url: string, model: string, key: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] });
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    `curl ${quoted(`${url}/v1/chat/completions`)} \\`,
    `  -H ${quoted(`Authorization: Key ${key}`)} \\`,
    `  -H ${quoted('Content-Type: application/json')} \\`,
    `  -d ${quoted(body)}`,
  ].join('\n');
}
