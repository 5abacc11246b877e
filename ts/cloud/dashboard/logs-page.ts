/** Live output of an app's runners. */

import { type Html, html } from '../../http/html.js';
import type { AppSummary } from '../apps/views.js';
import { appUrl } from './app-pages.js';
import type { LogLine } from './apps-view.js';
import { BASE, heading, type PageParts, type Viewer } from './page.js';

export function logsPage(viewer: Viewer, shown: AppSummary, lines: readonly LogLine[]): PageParts {
  const { org, app } = shown;
  const back = html`<a class="button quiet" href="${appUrl(shown)}">Back to the app</a>`;
  const source = `${BASE}/live/logs/${encodeURIComponent(org)}/${encodeURIComponent(app)}`;
  const body = html`${heading(html`Logs of <span class="faint">${org}/</span>${app}`, back)}
<div class="log-bar"><label class="choice"><input type="checkbox" id="follow" checked><span>Follow</span></label>
<span class="hint" id="log-state" role="status"></span></div>
<div class="log" role="log" aria-label="Log lines" tabindex="0" aria-live="off" data-log="${source}">${lines.map(lineOf)}</div>
${lines.length === 0 && html`<p class="hint">No output yet.</p>`}`;
  return { title: `Logs of ${org}/${app}`, at: 'apps', viewer, body };
}

/** Must match the lines that `dashboard.js` creates. */
function lineOf({ at, runner, text }: LogLine): Html {
  return html`<div><time>${new Date(at).toISOString().slice(11, 23)}</time><b>${runner}</b><span>${text}</span></div>`;
}
