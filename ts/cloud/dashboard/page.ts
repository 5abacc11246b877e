/** The frame of all pages: head, navigation, notices. */

import type { FastifyReply } from 'fastify';
import { type Html, html, type Part } from '../../http/html.js';
import type { Scope } from '../../keys/key-settings.js';
import { may, type Session } from '../accounts/sessions.js';
import { STYLES } from './assets.js';

export const BASE = '/dashboard';

/** The signed-in person. */
export interface Viewer {
  session: Session;
  /** CSRF token of forms; see `guard.ts`. */
  formToken: string;
}

export interface PageParts {
  title: string;
  /** Current entry of the navigation, if any. */
  at?: Place;
  viewer?: Viewer;
  /** Shown at the top and announced. */
  notice?: Notice | null;
  body: Html;
  /** Additional scripts in `assets/`. */
  scripts?: readonly string[];
}

export interface Notice {
  kind: 'good' | 'bad';
  text: string;
}

export type Place = 'apps' | 'keys' | 'usage' | 'budgets' | 'users' | 'audit' | 'account';

const PLACES: readonly [place: Place, label: string, needs?: Scope][] = [
  ['apps', 'Apps'],
  ['keys', 'Keys'],
  ['usage', 'Usage'],
  ['budgets', 'Budgets'],
  ['users', 'Users', 'admin'],
  ['audit', 'Audit', 'admin'],
  ['account', 'Account'],
];

export function page({ title, at, viewer, notice, body, scripts = [] }: PageParts): string {
  return `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · chasqui</title>
<link rel="icon" href="${BASE}/assets/icon.svg">
${STYLES.map((name) => html`<link rel="stylesheet" href="${BASE}/assets/${name}">`)}
${scripts.includes('usage.js') && html`<link rel="stylesheet" href="${BASE}/assets/uPlot.min.css">`}
${['dashboard.js', ...scripts].map((name) => html`<script src="${BASE}/assets/${name}" defer></script>`)}
</head>
<body class="${viewer ? 'with-navigation' : 'alone'}">
<a class="skip" href="#main">Skip to the content</a>
${viewer ? header(viewer, at) : html`<header class="top"><span class="brand">${mark()}chasqui</span></header>`}
<main id="main" tabindex="-1">
${notice && html`<p class="notice ${notice.kind}" role="${notice.kind === 'bad' ? 'alert' : 'status'}">${notice.text}</p>`}
${body}
</main>
</body>
</html>`.text
  }\n`;
}

function header({ session, formToken }: Viewer, at: Place | undefined): Html {
  return html`<header class="top">
<a class="brand" href="${BASE}/apps">${mark()}chasqui</a>
<nav aria-label="Pages"><ul>
${PLACES.filter(([, , needs]) => needs === undefined || may(session, needs)).map(
  ([place, label]) =>
    html`<li><a href="${BASE}/${place}"${place === at ? html` aria-current="page"` : ''}>${label}</a></li>`,
)}
</ul></nav>
<form class="who" method="post" action="${BASE}/sign-out">${tokenField(formToken)}
<span title="Signed in as ${session.userName}">${session.userName}</span>
<button class="quiet">Sign out</button></form>
</header>`;
}

function mark(): Html {
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M2 18 9 6l4 8 3-5 6 9"/></svg>`;
}

export function tokenField(formToken: string): Html {
  return html`<input type="hidden" name="form_token" value="${formToken}">`;
}

export function heading(title: Part, actions: Part = null, under: Part = null): Html {
  return html`<div class="heading"><div><h1>${title}</h1>${under && html`<p class="under">${under}</p>`}</div>
${actions && html`<div class="actions">${actions}</div>`}</div>`;
}

export function emptyState(title: string, advice: Part): Html {
  return html`<div class="empty"><h2>${title}</h2><p>${advice}</p></div>`;
}

export interface ConfirmedParts {
  label: string;
  /** Consequence of the action. */
  what: string;
  /** Form action, and hidden fields. */
  action: string;
  fields?: Readonly<Record<string, string | number>>;
  button: string;
  formToken: string;
}

/** A button with a confirmation step, for irreversible actions. Works without scripts and by keyboard. */
export function confirmed({ label, what, action, fields = {}, button, formToken }: ConfirmedParts): Html {
  return html`<details class="confirm"><summary class="button quiet">${label}</summary>
<form method="post" action="${action}" class="sheet">${tokenField(formToken)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p>${what}</p><button class="danger">${button}</button></form></details>`;
}

export function sendPage(reply: FastifyReply, parts: PageParts): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(page(parts));
}
