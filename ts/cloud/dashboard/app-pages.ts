/** The list of apps, and the page of an app with its revisions, runners and events. */

import { type Html, html } from '../../http/html.js';
import { may } from '../accounts/sessions.js';
import type { AppSummary, RevisionView } from '../apps/views.js';
import { type AppDetail, type EventSummary, type Health, healthOf, type RunnerSummary } from './apps-view.js';
import { timeTag } from './format.js';
import { BASE, confirmed, emptyState, heading, type PageParts, tokenField, type Viewer } from './page.js';

export function appUrl({ org, app }: Pick<AppSummary, 'org' | 'app'>): string {
  return `${BASE}/apps/${encodeURIComponent(org)}/${encodeURIComponent(app)}`;
}

/** Content that the script replaces after a change. */
function live(body: Html): Html {
  return html`<div data-live="${BASE}/live/changes">${body}</div>`;
}

export function stateTag(state: string, health: Health): Html {
  return html`<span class="state ${health}">${state}</span>`;
}

function appStateTag({ state, progress }: AppSummary): Html {
  return stateTag(progress ?? state, healthOf(state));
}

/** A start shows its progress instead. */
function reasonOf({ reason, progress }: AppSummary): Html | '' {
  return progress === null && reason ? html`<p class="reason">${reason}</p>` : '';
}

export function appListPage(viewer: Viewer, apps: readonly AppSummary[]): PageParts {
  const body = html`${heading('Apps')}${live(
    apps.length > 0
      ? html`<ul class="apps">${apps.map(appCard)}</ul>`
      : emptyState(
          'No apps yet',
          html`Deploy one with a script and one command: <code>chasqui deploy app.ts::chat</code>`,
        ),
  )}`;
  return { title: 'Apps', at: 'apps', viewer, body };
}

function appCard(app: AppSummary): Html {
  const { org, app: name, auth, revision, ready, demand } = app;
  return html`<li class="card app"><div class="line"><h2><a href="${appUrl(app)}"><span class="faint">${org}/</span>${name}</a></h2>
${appStateTag(app)}</div>
${reasonOf(app)}
<p class="sub"><code>${app.url}</code></p>
<dl class="facts">${fact('Access', auth)}${fact('Revision', revision ?? '–')}${fact('Runners', ready)}${fact('Running', demand.running)}${fact('Waiting', demand.queued)}</dl></li>`;
}

function fact(label: string, value: string | number): Html {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

export function appPage(viewer: Viewer, app: AppDetail, hasPlayground: boolean): PageParts {
  const { org, app: name, auth, revision, ready, demand, scale } = app;
  const actions = html`${
    hasPlayground && may(viewer.session, 'call') && html`<a class="button" href="${appUrl(app)}/try">Try</a>`
  }<a class="button" href="${appUrl(app)}/logs">Logs</a>${may(viewer.session, 'deploy') && restartForm(app, viewer)}`;
  const body = html`${heading(html`<span class="faint">${org}/</span>${name}`, actions, html`<code>${app.url}</code>`)}
${live(html`<div class="split"><section class="card" aria-labelledby="now"><div class="line"><h2 id="now">Status</h2>${appStateTag(app)}${reasonOf(app)}</div>
<dl class="facts">${fact('Access', auth)}${fact('Revision', revision ?? '–')}${fact('Runners', `${ready} of ${scale.max}`)}${fact('Running', demand.running)}${fact('Waiting', demand.queued)}</dl></section>
${scaleCard(app, viewer)}</div>
<section aria-labelledby="runners"><h2 id="runners">Runners</h2>${
  app.runners.length > 0
    ? runnerTable(app.runners)
    : html`<p class="hint">No runners. ${scale.min === 0 && 'The next request starts one.'}</p>`
}</section>
<section aria-labelledby="revisions"><h2 id="revisions">Revisions</h2>${revisionTable(app, viewer)}</section>
<section aria-labelledby="events"><h2 id="events">Events</h2>${eventList(app.events)}</section>`)}`;
  return { title: `${org}/${name}`, at: 'apps', viewer, body };
}

function restartForm(app: AppDetail, { formToken }: Viewer): Html {
  return confirmed({
    label: 'Restart',
    what: 'New runners of the same revision replace the current ones after their running requests.',
    action: `${appUrl(app)}/restart`,
    button: 'Restart runners',
    formToken,
  });
}

function scaleCard(app: AppDetail, viewer: Viewer): Html {
  const { min, max, is_overridden: isOverridden } = app.scale;
  return html`<section class="card" aria-labelledby="scale"><h2 id="scale">Scale</h2>
${
  may(viewer.session, 'deploy')
    ? scaleForm(app, viewer)
    : html`<dl class="facts">${fact('At least', min)}${fact('At most', max)}</dl>`
}
<p class="hint">${isOverridden ? 'Set here. Deployments do not change it.' : 'Set by the deployment script.'}</p></section>`;
}

function scaleForm(app: AppDetail, { formToken }: Viewer): Html {
  const { min, max, is_overridden: isOverridden } = app.scale;
  return html`<form method="post" action="${appUrl(app)}/scale" class="inline">${tokenField(formToken)}
<label>At least<input name="min" type="number" min="0" max="1000" value="${min}" required></label>
<label>At most<input name="max" type="number" min="0" max="1000" value="${max}" required></label>
<button>Set</button>
${isOverridden && html`<button class="quiet" name="by" value="script" formnovalidate>Use the script's scale</button>`}</form>`;
}

function runnerTable(runners: readonly RunnerSummary[]): Html {
  return html`<div class="table" role="region" aria-label="Table of runners" tabindex="0"><table class="cards"><caption class="unseen">Runners</caption>
<thead><tr><th scope="col">Runner</th><th scope="col">State</th><th scope="col">Revision</th><th scope="col">Busy</th><th scope="col">Process</th><th scope="col">Started</th></tr></thead>
<tbody>${runners.map(
    ({ id, state, health, reason, revision, running, slots, pid, startedAt }) => html`<tr>
<th scope="row"><code>${id}</code></th><td data-label="State">${stateTag(state, health)}${reason && html`<span class="sub">${reason}</span>`}</td>
<td data-label="Revision">${revision}</td><td data-label="Busy">${running} of ${slots}</td><td data-label="Process">${pid ?? '–'}</td>
<td data-label="Started">${timeTag(startedAt)}</td></tr>`,
  )}</tbody></table></div>`;
}

function revisionTable(app: AppDetail, viewer: Viewer): Html {
  return html`<div class="table" role="region" aria-label="Table of revisions" tabindex="0"><table class="cards"><caption class="unseen">Revisions, newest first</caption>
<thead><tr><th scope="col">Revision</th><th scope="col">State</th><th scope="col">Deployed</th><th scope="col">Message</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
<tbody>${app.revisions.toReversed().map((revision) => revisionRow(app, revision, viewer))}</tbody></table></div>`;
}

function revisionRow(app: AppDetail, revision: RevisionView, { session, formToken }: Viewer): Html {
  const { number, state, reason, author, message, digest } = revision;
  const canRollBack = revision.activated_at !== null && number !== app.revision && state === 'retired';
  return html`<tr><th scope="row">${number}<span class="sub"><code>${digest.slice(0, 12)}</code></span></th>
<td data-label="State">${stateTag(state, healthOf(state))}${state === 'failed' && reason && html`<span class="sub">${reason}</span>`}</td>
<td data-label="Deployed">${timeTag(Math.floor(revision.created_at / 1000))}<span class="sub">${author}</span></td>
<td data-label="Message">${message ?? html`<span class="faint">None</span>`}</td>
<td class="last">${
    canRollBack &&
    may(session, 'deploy') &&
    confirmed({
      label: 'Roll back',
      what: `Revision ${number} starts and replaces the active one when it is ready.`,
      action: `${appUrl(app)}/roll-back`,
      button: `Roll back to ${number}`,
      formToken,
      fields: { revision: number },
    })
  }</td></tr>`;
}

function eventList(events: readonly EventSummary[]): Html {
  if (events.length === 0) return html`<p class="hint">No events yet.</p>`;
  return html`<ol class="events">${events.map(
    ({ at, subject, change, reason }) =>
      html`<li>${timeTag(at)}<span><strong>${subject}</strong> ${change}${reason && html`<span class="sub">${reason}</span>`}</span></li>`,
  )}</ol>`;
}
