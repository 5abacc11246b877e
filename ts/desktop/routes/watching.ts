/** Data of the Developer view: requests, plot points and log lines. */
import { arrayOf, boolean, integer, limited, objectOf, string } from '../../http/schema/json-schema.js';
import { logLine, metricsPoint, requestRow } from '../schemas/requests.js';
import { toCsv } from '../store/metrics-history.js';
import { openPlace } from '../window.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

const limit = (otherwise: number, maximum: number) =>
  objectOf({ limit: limited(integer, { minimum: 1, maximum, default: otherwise }) });

const requestsQuery = limit(100, 1000);
const logsQuery = limit(500, 2000);
const metricsQuery = objectOf({ seconds: limited(integer, { minimum: 1, maximum: 3600, default: 3600 }) });
const idParams = objectOf({ id: limited(string, { maxLength: 100 }) });

export function watchingRoutes(app: DesktopRoutes, { requests, metrics, log }: DesktopApp): void {
  const rows = objectOf({ requests: arrayOf(requestRow) });
  const table = { summary: 'List requests, newest first', querystring: requestsQuery, response: { 200: rows } };
  app.get('/api/v1/requests', { schema: table }, async ({ query }) => {
    return { requests: requests.list(query.limit) };
  });

  const cancelled = objectOf({ id: string });
  const cancel = { summary: 'Cancel a running request', params: idParams, response: { 200: cancelled } };
  app.post('/api/v1/requests/:id/cancel', { schema: cancel }, async ({ params }) => {
    requests.cancel(params.id);
    return { id: params.id };
  });

  const points = objectOf({ points: arrayOf(metricsPoint) });
  const plots = { summary: 'Plot points', querystring: metricsQuery, response: { 200: points } };
  app.get('/api/v1/metrics', { schema: plots }, async ({ query }) => {
    return { points: metrics.list(query.seconds) };
  });

  const csv = {
    summary: 'Plot points as CSV',
    querystring: metricsQuery,
    produces: { 200: ['text/csv'] },
  };
  app.get('/api/v1/metrics.csv', { schema: csv }, async ({ query }, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="chasqui-metrics.csv"');
    return reply.serializer((text: string) => text).send(toCsv(metrics.list(query.seconds)));
  });

  const lines = objectOf({ lines: arrayOf(logLine), folder: string });
  const logs = { summary: 'Read the log, oldest line first', querystring: logsQuery, response: { 200: lines } };
  app.get('/api/v1/logs', { schema: logs }, async ({ query }) => ({
    lines: log.list(query.limit),
    folder: log.folder,
  }));

  const shown = objectOf({ folder: string, opened: boolean });
  const show = { summary: 'Open the log folder in the file manager', response: { 200: shown } };
  app.post('/api/v1/logs/folder', { schema: show }, async () => {
    return { folder: log.folder, opened: await openPlace(log.folder) };
  });
}
