/** The measurements of the server in Prometheus' text format. This endpoint replies while the server stops, too. */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import { EXPOSITION_TYPE } from '../../../metrics/exposition.js';
import type { AppContext } from '../../context.js';

export const METRICS_URL = '/metrics';
/** As in llama-server. */
const START_HEADER = 'Process-Start-Time-Unix';

export function metricsRoute(app: FastifyInstance, { metrics }: AppContext): void {
  app.get(METRICS_URL, { config: { operation, repliesWhileStopping: true } }, async (_request, reply) => {
    // Fastify would send the name in lower case.
    reply.raw.setHeader(START_HEADER, Math.round(performance.timeOrigin / 1000));
    return reply.type(EXPOSITION_TYPE).send(await metrics.text());
  });
}

const operation: Operation = {
  id: 'showMetrics',
  tag: 'Server',
  summary: 'Metrics of the server in the Prometheus text format.',
  reply: { text: 'text/plain' },
};
