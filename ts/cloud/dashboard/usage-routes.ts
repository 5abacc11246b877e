import type { FastifyInstance } from 'fastify';
import { visibleKeys } from '../accounts/key-changes.js';
import { usageCsv } from '../accounts/usage-store.js';
import { actorOf, type DashboardContext, pageRoute } from './context.js';
import { BASE, sendPage } from './page.js';
import { RANGES, type UsageChoice, usagePage } from './usage-page.js';

const HOUR = 3600;

export function usageRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { accounts } = context;
  pageRoute(app, context, `${BASE}/usage`, 'read', (request, reply, viewer) => {
    const choice = choiceOf(request.query);
    const { from, to } = spanOf(choice);
    const rows = accounts.usage.list({ from, to, hours: RANGES[choice.range].hours, org: viewer.session.userOrg });
    const keys = visibleKeys(accounts, actorOf(viewer, request));
    return sendPage(reply, usagePage({ viewer, choice, from, to, rows, keys }));
  });
  pageRoute(app, context, `${BASE}/usage.csv`, 'read', (request, reply, { session }) => {
    const choice = choiceOf(request.query);
    const rows = accounts.usage.list({ ...spanOf(choice), hours: RANGES[choice.range].hours, org: session.userOrg });
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="chasqui-usage-${choice.range}.csv"`)
      .send(usageCsv(rows));
  });
}

function choiceOf(query: unknown): UsageChoice {
  const { range, by } = query as Record<string, unknown>;
  return {
    range: typeof range === 'string' && Object.hasOwn(RANGES, range) ? (range as UsageChoice['range']) : 'week',
    by: by === 'key' ? 'key' : 'app',
  };
}

/** Full hours or days, including the current one. */
function spanOf({ range }: UsageChoice, now = Date.now() / 1000): { from: number; to: number } {
  const { hours, count } = RANGES[range];
  const step = hours * HOUR;
  const to = (Math.floor(now / step) + 1) * step;
  return { from: to - count * step, to };
}
