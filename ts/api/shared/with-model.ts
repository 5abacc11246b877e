/** Lends a request the engine of the model that it names, until its reply is over. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toChasquiError, toErrorBody } from '../../http/error-handler.js';
import { type Framing, type SseEvent, serverSentEvents } from '../../http/framing.js';
import type { AppContext } from '../context.js';
import { keepMsOf } from './keep-alive.js';
import { LoadingComments } from './loading-comments.js';
import type { ModelUse } from './model-use-schema.js';

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

export interface StreamSettings {
  /** The events that tell of a failure before the completion has begun. */
  fail(body: ErrorBody): readonly SseEvent[];
  /** Default: server-sent events. */
  framing?: Framing;
  /** Whether a request that does not say gets a stream; default false. */
  unlessSaid?: boolean;
}

/** The name of the model that a request asks for, where it is not the body's `model`. */
export type ModelNaming<Body> = (body: Body) => string | undefined;

/** How often a stream says how far the load of its model is. */
const LOADING_COMMENT_MS = 1000;

/**
 * A route's handler. All that need a model are made by this function, so that no lease is forgotten. With `streaming`, a
 * request with `stream: true` is sent comments while its model is being loaded. `nameOf` says which model it asks for.
 */
export function withModel<Body extends ModelUse & { model?: string; stream?: boolean }>(
  { pool, running, options }: Pick<AppContext, 'pool' | 'running' | 'options'>,
  handle: ModelHandler<Body>,
  streaming: StreamSettings | null = null,
  nameOf: ModelNaming<Body> = ({ model }) => model,
) {
  const { framing = serverSentEvents, unlessSaid = false } = streaming ?? {};
  return async (request: FastifyRequest<{ Body: Body }>, reply: FastifyReply): Promise<unknown> => {
    const { raw } = reply;
    const body = request.body as Body;
    const { stream = unlessSaid } = body;
    const keepMs = keepMsOf(body);
    const signal = running.signalFor(raw);
    const everyMs = Math.min(LOADING_COMMENT_MS, options.keepAliveMs);
    const comments = stream && streaming !== null ? new LoadingComments(reply, everyMs, framing) : null;
    try {
      const lease = pool.acquire(nameOf(body), { signal, keepMs, onProgress: comments?.update });
      const { engine, release } = await lease.finally(() => comments?.stop());
      raw.once('close', release);
      // It has been closed while the lease was awaited, so the listener will not be called.
      if (raw.destroyed) release();
      return await handle(request, reply, { engine, signal });
    } catch (thrown) {
      if (streaming === null || !comments?.begun) throw thrown;
      raw.end(framing.frame(streaming.fail(toErrorBody(toChasquiError(thrown, request, options)))));
      return undefined;
    }
  };
}
