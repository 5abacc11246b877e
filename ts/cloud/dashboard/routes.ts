/** `/dashboard`: pages for the users of the cloud. */
import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type CatalogueRow, ChasquiError, ERRORS } from '../../errors.js';
import { html } from '../../http/html.js';
import { oidcRoutes } from '../oidc/routes.js';
import { accountRoutes } from './account-routes.js';
import { appRoutes } from './app-routes.js';
import { Assets } from './assets.js';
import { auditRoutes } from './audit-routes.js';
import { budgetRoutes } from './budget-routes.js';
import { createContext, type DashboardContext, type DashboardParts } from './context.js';
import { NotOurForm, protectPages } from './guard.js';
import { keyRoutes } from './key-routes.js';
import { BASE, page } from './page.js';
import { playgroundRoutes } from './playground-routes.js';
import { FORM_LIMIT } from './sent-form.js';
import { signInRoutes } from './sign-in-routes.js';
import { usageRoutes } from './usage-routes.js';
import { userRoutes } from './user-routes.js';

const ROUTES = [
  signInRoutes,
  oidcRoutes,
  appRoutes,
  playgroundRoutes,
  keyRoutes,
  usageRoutes,
  budgetRoutes,
  userRoutes,
  auditRoutes,
  accountRoutes,
];

/** Encapsulated: parsers and error handlers apply to the dashboard only. */
export function dashboardRoutes(app: FastifyInstance, parts: DashboardParts): void {
  app.register(async (scope) => {
    const context = createContext(parts);
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_LIMIT },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    );
    scope.addHook('onRequest', async (_request, reply) => protectPages(reply));
    scope.setErrorHandler((error, request, reply) => showError(context, error as FastifyError, request, reply));
    for (const routes of ROUTES) routes(scope, context);
    assetRoute(scope);
    for (const url of ['/', BASE]) scope.get(url, async (_request, reply) => reply.redirect(`${BASE}/apps`, 303));
    scope.get(`${BASE}/*`, async () => {
      throw new ChasquiError('unknown_url', 'Page not found.');
    });
  });
}

function assetRoute(scope: FastifyInstance): void {
  const assets = new Assets();
  scope.get(`${BASE}/assets/:name`, async (request, reply) => {
    const asset = assets.find((request.params as { name: string }).name);
    if (!asset) throw new ChasquiError('unknown_url', 'File not found.');
    return reply.type(asset.type).header('cache-control', 'private, max-age=300').send(asset.content);
  });
}

function showError(
  { guard, onServerError }: DashboardContext,
  thrown: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, message } = explain(thrown, request.id);
  if (status >= 500) onServerError(thrown, request.id);
  const viewer = status >= 500 ? null : guard.viewer(request);
  const title = STATUS_CODES[status] ?? 'Something went wrong';
  const body = html`<div class="card narrow"><h1>${title}</h1><p>${message}</p>
<p><a class="button" href="${BASE}/apps">Go to the apps</a></p></div>`;
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(page({ title, body, ...(viewer && { viewer }) }));
}

/** The server's own errors are told to its log; the page says where to look. */
function explain(thrown: FastifyError, requestId: string): { status: number; message: string } {
  if (thrown instanceof NotOurForm) {
    return {
      status: 403,
      message: 'This form has expired or came from another page. Open the page again and retry.',
    };
  }
  const row: CatalogueRow | undefined = thrown instanceof ChasquiError ? ERRORS[thrown.code] : undefined;
  const status = row?.status ?? thrown.statusCode ?? 500;
  if (status === 500) return { status, message: `Internal error. See the server's log, request ${requestId}.` };
  return { status, message: thrown.message };
}
