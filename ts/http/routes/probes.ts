/**
 * Probes for what starts and restarts servers, such as Kubernetes. `/live` is 200 as long as the process serves, also
 * while it loads its model and while it stops. `/ready` is 200 while requests are accepted and computed.
 */
import type { FastifyInstance } from 'fastify';
import type { Probe } from '../../schemas/health.js';
import type { AppContext } from '../context.js';
import { countsOf, readyEngines } from './health.js';

export const LIVE_URL = '/live';
export const READY_URL = '/ready';

export function probeRoutes(app: FastifyInstance, { pool }: AppContext): void {
  app.get(LIVE_URL, { config: { repliesWhileStopping: true } }, async (): Promise<Probe> => ({ status: 'ok' }));
  app.get(READY_URL, async (): Promise<Probe> => {
    await Promise.all(readyEngines(pool).map(countsOf));
    return { status: 'ok' };
  });
}
