/** Lends a request the engine of the model that it names, until its reply is over. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../engine/engine.js';
import type { AppContext } from './context.js';

export interface Leased {
  engine: Engine;
  /** Aborted when the client goes away or the server stops. */
  signal: AbortSignal;
}

type ModelHandler<Body> = (
  request: FastifyRequest<{ Body: Body }>,
  reply: FastifyReply,
  leased: Leased,
) => Promise<unknown>;

/** A route's handler. All that need a model are made by this function, so that no lease is forgotten. */
export function withModel<Body extends { model?: string }>(
  { pool, running }: Pick<AppContext, 'pool' | 'running'>,
  handle: ModelHandler<Body>,
) {
  return async (request: FastifyRequest<{ Body: Body }>, reply: FastifyReply): Promise<unknown> => {
    const { raw } = reply;
    const signal = running.signalFor(raw);
    const { model } = request.body as Body;
    const { engine, release } = await pool.acquire(model, { signal });
    raw.once('close', release);
    // It has been closed while the lease was awaited, so the listener will not be called.
    if (raw.destroyed) release();
    return handle(request, reply, { engine, signal });
  };
}
