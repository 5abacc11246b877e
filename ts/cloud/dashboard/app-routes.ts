/** Routes of the app pages: list, app, logs and changes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError, ERRORS, invalidValue } from '../../errors.js';
import type { Actor } from '../accounts/audit.js';
import type { AppSummary } from '../apps/views.js';
import { appListPage, appPage } from './app-pages.js';
import type { AppDetail } from './apps-view.js';
import { actorOf, type DashboardContext, formRoute, pageRoute } from './context.js';
import { LiveStreams } from './live-streams.js';
import { logsPage } from './logs-page.js';
import { BASE, sendPage, type Viewer } from './page.js';
import { SentForm } from './sent-form.js';

const LOG_LINES = 500;
export const APP = `${BASE}/apps/:org/:name`;

export function appRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { apps, accounts } = context;
  const hasPlayground = context.chatPage !== undefined;
  // The user may have been moved to another organisation.
  const streams = new LiveStreams(({ id, userOrg }) => accounts.sessions.open(id)?.userOrg === userOrg);
  app.addHook('preClose', async () => streams.close());
  pageRoute(app, context, `${BASE}/apps`, 'read', (_request, reply, viewer) =>
    sendPage(reply, appListPage(viewer, visibleApps(context, viewer))),
  );
  pageRoute(app, context, APP, 'read', (request, reply, viewer) =>
    sendPage(reply, appPage(viewer, findApp(context, request, viewer), hasPlayground)),
  );
  pageRoute(app, context, `${APP}/logs`, 'read', (request, reply, viewer) => {
    const found = findApp(context, request, viewer);
    return sendPage(reply, logsPage(viewer, found, apps.logs(found.org, found.app, LOG_LINES)));
  });
  pageRoute(app, context, `${BASE}/live/changes`, 'read', (_request, reply, viewer) => {
    streams.open(reply, viewer.session, (send) => apps.onChange(() => send('change')));
  });
  pageRoute(app, context, `${BASE}/live/logs/:org/:name`, 'read', (request, reply, viewer) => {
    const { org, app: name } = findApp(context, request, viewer);
    streams.open(reply, viewer.session, (send) => apps.onLog(org, name, (line) => send('line', line)));
  });
  changeRoutes(app, context);
}

function changeRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { apps } = context;
  const change = (path: string, act: (found: AppDetail, form: SentForm, actor: Actor) => Promise<void>) => {
    formRoute(app, context, `${APP}/${path}`, 'deploy', async (request, reply, viewer) => {
      const found = findApp(context, request, viewer);
      try {
        await act(found, new SentForm(request.body), actorOf(viewer, request));
      } catch (error) {
        return refused(context, request, reply, viewer, error);
      }
      return reply.redirect(`${BASE}/apps/${found.org}/${found.app}`, 303);
    });
  };
  change('roll-back', ({ org, app }, form, actor) => apps.rollBack(org, app, numberIn(form, 'revision'), actor));
  change('restart', ({ org, app }, _form, actor) => apps.restart(org, app, actor));
  change('scale', ({ org, app }, form, actor) => {
    const isScript = form.text('by') === 'script';
    return apps.scale(org, app, isScript ? null : { min: numberIn(form, 'min'), max: numberIn(form, 'max') }, actor);
  });
}

/** Shows invalid changes on the app's page; other errors have their own page. */
function refused(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  viewer: Viewer,
  error: unknown,
): FastifyReply {
  if (!(error instanceof ChasquiError) || ERRORS[error.code].status >= 500) throw error;
  reply.code(ERRORS[error.code].status);
  return sendPage(reply, {
    ...appPage(viewer, findApp(context, request, viewer), context.chatPage !== undefined),
    notice: { kind: 'bad', text: error.message },
  });
}

/** NaN is refused by the control plane. */
function numberIn(form: SentForm, name: string): number {
  const text = form.text(name);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalidValue(`\`${name}\` must be a whole number.`, name);
}

export function visibleApps({ apps }: DashboardContext, { session }: Viewer): readonly AppSummary[] {
  return apps.list().filter(({ org }) => session.userOrg === null || session.userOrg === org);
}

export function findApp({ apps }: DashboardContext, request: FastifyRequest, { session }: Viewer): AppDetail {
  const { org, name } = request.params as { org: string; name: string };
  const found = session.userOrg === null || session.userOrg === org ? apps.find(org, name) : null;
  if (found) return found;
  throw new ChasquiError('unknown_url', 'App not found. It may have been deleted.');
}
