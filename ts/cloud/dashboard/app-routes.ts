/** Routes of the app pages: list, app, logs and changes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError, ERRORS, invalidValue } from '../../errors.js';
import type { Actor } from '../accounts/audit.js';
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
  const streams = new LiveStreams((id) => accounts.sessions.isOpen(id));
  app.addHook('preClose', async () => streams.close());
  pageRoute(app, context, `${BASE}/apps`, (_request, reply, viewer) =>
    sendPage(reply, appListPage(viewer, apps.list())),
  );
  pageRoute(app, context, APP, (request, reply, viewer) =>
    sendPage(reply, appPage(viewer, findApp(context, request), hasPlayground)),
  );
  pageRoute(app, context, `${APP}/logs`, (request, reply, viewer) => {
    const found = findApp(context, request);
    return sendPage(reply, logsPage(viewer, found, apps.logs(found.org, found.name, LOG_LINES)));
  });
  pageRoute(app, context, `${BASE}/live/changes`, (_request, reply, viewer) => {
    streams.open(reply, viewer.session.id, (send) => apps.onChange(() => send('change')));
  });
  pageRoute(app, context, `${BASE}/live/logs/:org/:name`, (request, reply, viewer) => {
    const { org, name } = findApp(context, request);
    streams.open(reply, viewer.session.id, (send) => apps.onLog(org, name, (line) => send('line', line)));
  });
  changeRoutes(app, context);
}

function changeRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { apps } = context;
  const change = (path: string, act: (found: AppDetail, form: SentForm, actor: Actor) => Promise<void>) => {
    formRoute(app, context, `${APP}/${path}`, async (request, reply, viewer) => {
      const found = findApp(context, request);
      try {
        await act(found, new SentForm(request.body), actorOf(viewer, request));
      } catch (error) {
        return refused(context, request, reply, viewer, error);
      }
      return reply.redirect(`${BASE}/apps/${found.org}/${found.name}`, 303);
    });
  };
  change('roll-back', ({ org, name }, form, actor) => apps.rollBack(org, name, numberIn(form, 'revision'), actor));
  change('restart', ({ org, name }, _form, actor) => apps.restart(org, name, actor));
  change('scale', ({ org, name }, form, actor) => {
    const isScript = form.text('by') === 'script';
    return apps.scale(org, name, isScript ? null : { min: numberIn(form, 'min'), max: numberIn(form, 'max') }, actor);
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
    ...appPage(viewer, findApp(context, request), context.chatPage !== undefined),
    notice: { kind: 'bad', text: error.message },
  });
}

/** NaN is refused by the control plane. */
function numberIn(form: SentForm, name: string): number {
  const text = form.text(name);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalidValue(`\`${name}\` must be a whole number.`, name);
}

export function findApp({ apps }: DashboardContext, request: FastifyRequest): AppDetail {
  const { org, name } = request.params as { org: string; name: string };
  const found = apps.find(org, name);
  if (found) return found;
  throw new ChasquiError('unknown_url', 'App not found. It may have been deleted.');
}
