/** Routes of the key pages. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { type Html, html } from '../../http/html.js';
import { endOfDate, SCOPES, type Scope } from '../../keys/key-settings.js';
import type { NewKeySettings } from '../../keys/key-store.js';
import { createKey, revokeKey, visibleKeys } from '../accounts/key-changes.js';
import { visibleApps } from './app-routes.js';
import { actorOf, type DashboardContext, formRoute, pageRoute, tryPassword } from './context.js';
import { OIDC_URL } from './guard.js';
import { type KeyForm, keyListPage, newKeyPage, shownKeyPage } from './key-pages.js';
import { BASE, sendPage, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';

const DAY_SECONDS = 86_400;
const MIB = 2 ** 20;
/** Proposed lifetimes in days; `date` for any other. */
export const EXPIRIES: readonly (readonly [value: string, label: string])[] = [
  ['never', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['date', 'On a date …'],
];

export function keyRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, newKeys, publicUrl } = context;
  pageRoute(app, context, `${BASE}/keys`, 'read', (request, reply, viewer) =>
    sendPage(reply, keyListPage(viewer, visibleKeys(accounts, actorOf(viewer, request)))),
  );
  pageRoute(app, context, `${BASE}/keys/new`, 'admin', (_request, reply, viewer) =>
    showForm(context, reply, viewer, { ...EMPTY_FORM, org: viewer.session.userOrg ?? '' }, null),
  );
  formRoute(app, context, `${BASE}/keys`, 'admin', (request, reply, viewer) => create(context, request, reply, viewer));
  pageRoute(app, context, `${BASE}/keys/:id/created`, 'admin', (request, reply, viewer) => {
    const { id } = request.params as { id: string };
    const key = newKeys.take(viewer.session.id, id);
    const made = accounts.keys.find(id);
    // The key was shown before, or a minute has passed.
    if (key === null || !made) return reply.redirect(`${BASE}/keys`, 303);
    return sendPage(reply, shownKeyPage(viewer, key, made, publicUrl(), visibleApps(context, viewer)));
  });
  formRoute(app, context, `${BASE}/keys/:id/revoke`, 'admin', (request, reply, viewer) => {
    revokeKey(accounts, actorOf(viewer, request), (request.params as { id: string }).id);
    return reply.redirect(`${BASE}/keys`, 303);
  });
}

async function create(context: DashboardContext, request: FastifyRequest, reply: FastifyReply, viewer: Viewer) {
  const { accounts, newKeys } = context;
  const { session } = viewer;
  const sent = new SentForm(request.body);
  const form = readForm(sent);
  if (!accounts.sessions.isConfirmed(session)) {
    const tried = await tryPassword(context, request, session.userName, sent.exact('password'));
    if ('problem' in tried) {
      const text = tried.seconds === undefined ? 'Wrong password.' : tried.problem;
      return showForm(context, reply.code(tried.seconds === undefined ? 403 : 429), viewer, form, text);
    }
    accounts.sessions.confirm(session.id);
  }
  try {
    const { key, made } = createKey(accounts, actorOf(viewer, request), toSettings(form, session.userOrg));
    newKeys.put(session.id, made.id, key);
    return reply.redirect(`${BASE}/keys/${made.id}/created`, 303);
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.code !== 'invalid_value') throw error;
    // Keep the password confirmation that was just given.
    const fresh = { ...viewer, session: { ...session, confirmedAt: Math.floor(Date.now() / 1000) } };
    return showForm(context, reply.code(400), fresh, form, withLabels(error));
  }
}

function showForm(
  context: DashboardContext,
  reply: FastifyReply,
  viewer: Viewer,
  form: KeyForm,
  problem: string | null,
) {
  const isConfirmed = context.accounts.sessions.isConfirmed(viewer.session);
  const confirmation = isConfirmed ? null : confirmationOf(context, viewer);
  const apps = visibleApps(context, viewer);
  return sendPage(reply, newKeyPage({ viewer, form, problem, confirmation, apps, expiries: EXPIRIES }));
}

function confirmationOf({ accounts, oidc, publicUrl }: DashboardContext, { session }: Viewer): Html {
  if (oidc && accounts.users.find(session.userId)?.hasPassword === false) {
    const url = `${publicUrl()}${OIDC_URL}?again&next=${encodeURIComponent(`${BASE}/keys/new`)}`;
    return html`<p class="hint">To create a key, first <a href="${url}">sign in with ${oidc.name} again</a>.</p>`;
  }
  return html`<label>Your password<input name="password" type="password" autocomplete="current-password" required maxlength="1024"></label>
<p class="hint">Confirm your password to create a key.</p>`;
}

const EMPTY_FORM: KeyForm = { ...readForm(new SentForm(null)), scopes: ['call'], expires: '90' };

function readForm(sent: SentForm): KeyForm {
  return {
    name: sent.text('name'),
    org: sent.text('org'),
    app: sent.text('app'),
    scopes: SCOPES.filter((scope) => sent.all('scopes').includes(scope)),
    expires: sent.text('expires'),
    date: sent.text('date'),
    requestsPerMinute: sent.text('requests_per_minute'),
    tokensPerMinute: sent.text('tokens_per_minute'),
    concurrency: sent.text('concurrency'),
    bodyMib: sent.text('body_mib'),
  };
}

/** Ranges are checked when the key is created. `ownOrg`: the default organisation of the key. */
function toSettings(form: KeyForm, ownOrg: string | null): NewKeySettings {
  const bodyMib = numberOf(form.bodyMib);
  return {
    name: form.name || null,
    org: form.org || ownOrg,
    app: form.app || null,
    scopes: form.scopes as Scope[],
    expiresAt: expiryOf(form),
    limits: {
      requestsPerMinute: numberOf(form.requestsPerMinute),
      tokensPerMinute: numberOf(form.tokensPerMinute),
      concurrency: numberOf(form.concurrency),
      bodyBytes: bodyMib === null ? null : bodyMib * MIB,
    },
  };
}

function expiryOf({ expires, date }: KeyForm): number | null {
  if (expires === 'never') return null;
  if (expires === 'date') return endOfDate(date);
  return Math.floor(Date.now() / 1000) + Number(expires) * DAY_SECONDS;
}

function numberOf(text: string): number | null {
  const digits = text.replace(/[\s_,]/g, '');
  if (digits === '') return null;
  return /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN;
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  name: 'The name',
  org: 'The organisation',
  app: 'The app',
  scopes: 'The permissions',
  expires_at: 'The expiry',
  'limits.requests_per_minute': 'Requests per minute',
  'limits.tokens_per_minute': 'Tokens per minute',
  'limits.concurrency': 'Parallel requests',
  'limits.body_bytes': 'Maximum body size',
};

/** Replaces field names in an error by the labels of the form. */
function withLabels({ message, param }: ChasquiError): string {
  const label = FIELD_NAMES[param ?? ''];
  return label ? message.replace(`\`${param}\``, label) : message;
}
