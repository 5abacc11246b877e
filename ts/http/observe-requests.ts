/** Gives every request a record, and reports it to the metrics, the log and the spans when the reply is over. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../engine/engine.js';
import { type Arrival, RequestRecord } from '../metrics/request-record.js';
import { readTraceParent } from '../metrics/trace-parent.js';
import type { ModelPool } from '../models/pool.js';
import type { HttpContext } from './context.js';
import { logRequest } from './request-log.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook. It is `null` for requests with an invalid URL, for which no hook runs. */
    record: RequestRecord;
  }
}

const MAX_PATH_LENGTH = 200;

/** To be called before any hook that may refuse requests. */
export function observeRequests(app: FastifyInstance, context: HttpContext): void {
  const { pool, metrics, spans, log, basePath, running, requests } = context;
  app.decorateRequest('record', null as never);
  app.addHook('onRequest', async (request, reply) => {
    const record = new RequestRecord(metrics, toArrival(request, basePath), { keepsPrompt: log?.prompts ?? false });
    request.record = record;
    const { raw } = reply;
    requests?.began(record, request, () => running.cancel(raw));
    // Fastify's hook for the end of a reply is not called when the client leaves.
    raw.once('close', () => {
      if (!raw.writableEnded) record.failed('client_closed_request');
      record.end(raw.writableEnded ? raw.statusCode : CLIENT_LEFT);
      logRequest(request.log, record);
      spans?.add(record);
      requests?.ended(record);
    });
  });
  const stopReading = metrics.watchEngines(() => enginesOf(pool));
  const stopWatching = metrics.watchEventLoop();
  app.addHook('onClose', async () => {
    stopReading();
    stopWatching();
  });
}

/** An adapter's engine is its model's. */
function enginesOf(pool: ModelPool): Engine[] {
  return pool.list().flatMap(({ engine, parent }) => (parent === null ? (engine ?? []) : []));
}

/** The catalogue of errors has this status for clients that left. It is never sent. */
const CLIENT_LEFT = 499;

function toArrival(request: FastifyRequest, basePath: string): Arrival {
  const { id, method, url, routeOptions, headers } = request;
  return {
    id,
    method,
    path: (url.split('?', 1)[0] ?? '').slice(0, MAX_PATH_LENGTH),
    endpoint: request.is404 ? null : withoutBase(routeOptions.url ?? '', basePath),
    traceParent: readTraceParent(headers.traceparent),
  };
}

function withoutBase(url: string, basePath: string): string {
  return url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url;
}
