/** `/dashboard/apps/<org>/<app>/try`: a chat with an app, on the page of `chasqui serve`. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { html } from '../../http/html.js';
import { createKey } from '../accounts/key-changes.js';
import { TryCounter } from '../accounts/sign-in-limits.js';
import { appUrl } from './app-pages.js';
import { APP, findApp } from './app-routes.js';
import { actorOf, type DashboardContext, formRoute, pageRoute } from './context.js';
import { BASE } from './page.js';

const ASSETS = `${BASE}/playground`;
const KEY_SECONDS = 3600;
/** Keys stay in the list of keys after their end. */
const KEYS_PER_USER = { burst: 20, perMinute: 2, maxEntries: 1000 };

export function playgroundRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { accounts, chatPage } = context;
  if (chatPage === undefined) return;
  const created = new TryCounter(KEYS_PER_USER);
  pageRoute(app, context, `${APP}/try`, 'call', (request, reply, viewer) => {
    const found = findApp(context, request, viewer);
    const { formToken } = viewer;
    const { org, app: name } = found;
    const attributes = html`data-base="/${org}/${name}/" data-app="${org}/${name}" data-back="${appUrl(found)}" data-form-token="${formToken}"`;
    const page = chatPage
      .html()
      .replaceAll('"/assets/', `"${ASSETS}/`)
      .replace('"/icon.svg"', `"${BASE}/assets/icon.svg"`)
      .replace('<title>', (start) => `${start}${org}/${name} · `)
      .replace('<div id="web-page"', (start) => `${start} ${attributes.text}`);
    return reply.type('text/html; charset=utf-8').header('content-security-policy', chatPage.contentPolicy).send(page);
  });
  app.get(`${ASSETS}/:name`, async (request, reply) => {
    const sent = chatPage.sendAsset(request, reply, (request.params as { name: string }).name);
    if (sent === null) throw new ChasquiError('unknown_url', 'File not found.');
    return sent;
  });
  // Needs no password: the key only calls this app, and ends with the session or after an hour.
  formRoute(app, context, `${APP}/try/key`, 'call', (request, _reply, viewer) => {
    const { org, app: name } = findApp(context, request, viewer);
    const seconds = created.take(viewer.session.userId);
    if (seconds > 0) throw tooManyKeys(seconds);
    const expiresAt = Math.floor(Date.now() / 1000) + KEY_SECONDS;
    const settings = { name: 'playground', org, app: name, scopes: ['call' as const], expiresAt };
    const { key, made } = createKey(accounts, actorOf(viewer, request), settings);
    accounts.sessionKeys.add(made.id, viewer.session.id);
    return { key };
  });
}

function tooManyKeys(seconds: number): ChasquiError {
  return new ChasquiError('rate_limit_exceeded', `You have created many keys. Try again in ${seconds} s.`);
}
