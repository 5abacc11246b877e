/** For load balancers and for people: 200 while requests are taken, 503 from when the server begins to stop. */
import type { FastifyInstance } from 'fastify';
import type { EngineStats } from '../../engine/engine.js';
import type { Health } from '../../schemas/health.js';
import type { AppContext } from '../app.js';
import { refuseOtherMethods } from '../not-found.js';

export function healthRoute(app: FastifyInstance, { engine }: AppContext): void {
  app.get('/health', async (): Promise<Health> => toHealth(engine.model.id, await engine.stats()));
  refuseOtherMethods(app, '/health', ['GET', 'HEAD']);
}

export const LIVENESS_URL = '/health';

/**
 * Outside the base path, and open to everybody: load balancers have no key. So it tells nothing but that requests are
 * taken.
 */
export function livenessRoute(app: FastifyInstance): void {
  app.get(LIVENESS_URL, async () => ({ status: 'ok' }));
  refuseOtherMethods(app, LIVENESS_URL, ['GET', 'HEAD']);
}

function toHealth(model: string, stats: EngineStats): Health {
  return {
    status: 'ok',
    model,
    active: stats.active,
    queued: stats.queued,
    kv_cells_used: stats.kvCellsUsed,
    kv_cells_cached: stats.kvCellsCached,
    kv_cells_total: stats.kvCellsTotal,
    jobs_finished: stats.jobsFinished,
    jobs_cancelled: stats.jobsCancelled,
    prompt_tokens: stats.promptTokens,
    completion_tokens: stats.completionTokens,
    drafted_tokens: stats.draftedTokens,
    accepted_tokens: stats.acceptedTokens,
    decode_steps: stats.decodeSteps,
    embedded_tokens: stats.embeddedTokens,
  };
}
