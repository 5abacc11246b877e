/**
 * Probes for what starts and restarts servers, such as Kubernetes. `/live` is 200 as long as the process serves, also
 * while it loads its model and while it stops. `/ready` is 200 while requests are accepted and computed.
 */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';
import { countsOf, ENGINE_ERRORS, readyEngines } from './handler.js';
import { type Probe, probeSchema } from './schema.js';

export const LIVE_URL = '/live';
export const READY_URL = '/ready';

export function probeRoutes(app: FastifyInstance, { pool }: AppContext): void {
  const liveSettings = { config: { operation: showLive, repliesWhileStopping: true } };
  app.get(LIVE_URL, liveSettings, async (): Promise<Probe> => ({ status: 'ok' }));
  app.get(READY_URL, { config: { operation: showReady } }, async (): Promise<Probe> => {
    await Promise.all(readyEngines(pool).map(countsOf));
    return { status: 'ok' };
  });
}

const showLive: Operation = {
  id: 'showLive',
  tag: 'Server',
  summary: 'Liveness: 200 while the process runs, even while it loads a model or stops.',
  reply: { json: { name: 'Probe', schema: probeSchema } },
  examples: () => ({ live: { summary: 'A server that runs', reply: { status: 'ok' } } }),
};

const showReady: Operation = {
  id: 'showReady',
  tag: 'Server',
  summary: 'Readiness: 200 while requests are accepted and computed, else 503.',
  reply: { json: { name: 'Probe', schema: probeSchema } },
  errors: ENGINE_ERRORS,
  examples: () => ({ ready: { summary: 'A server that accepts requests', reply: { status: 'ok' } } }),
};
