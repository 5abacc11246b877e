/** `GET /metrics`: a key with the scope `read` sees the apps that it reaches, and one for everything the process as well. */
import type { FastifyInstance } from 'fastify';
import { EXPOSITION_TYPE } from '../../metrics/exposition.js';
import { type Authorize, isWithin } from '../accounts/authorize.js';
import type { CloudMetrics } from './cloud-metrics.js';

export function metricsRoute(
  api: FastifyInstance,
  { metrics, authorize }: { metrics: CloudMetrics; authorize: Authorize },
): void {
  api.get('/metrics', async (request, reply) => {
    const actor = authorize(request, 'read');
    const text = metrics.text({ all: isWithin({}, actor), app: (org, app) => isWithin({ org, app }, actor) });
    return reply.type(EXPOSITION_TYPE).header('cache-control', 'no-store').send(text);
  });
}
