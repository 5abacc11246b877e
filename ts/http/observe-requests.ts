/** Creates a record for every request, and reports it to the metrics, the log and the spans when the reply ends. */
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Engine } from '../engine/engine.js';
import { type Arrival, RequestRecord, readTraceParent, toTraceParent } from '../metrics/request-record.js';
import type { ModelPool } from '../models/pool.js';
import type { HttpContext } from './context.js';
import { LOG_LEVELS, type LogOptions } from './log-levels.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook. It is `null` for requests with an invalid URL, because no hook runs for them. */
    record: RequestRecord;
  }
}

const MAX_PATH_LENGTH = 200;

/** Call it before adding hooks that may refuse requests. */
export function observeRequests(app: FastifyInstance, context: HttpContext): void {
  const { pool, metrics, spans, log, basePath, running, requests } = context;
  app.decorateRequest('record', null as never);
  app.addHook('onRequest', async (request, reply) => {
    const record = new RequestRecord(metrics, toArrival(request, basePath), { keepsPrompt: log?.prompts ?? false });
    request.record = record;
    const { raw } = reply;
    requests?.began(record, request, () => running.cancel(raw));
    // Fastify's `onResponse` hook is not called if the client disconnects.
    raw.once('close', () => {
      if (!raw.writableEnded) record.failed('client_closed_request');
      record.end(raw.writableEnded ? raw.statusCode : CLIENT_LEFT);
      if (log !== undefined) logRequest(log, record);
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

/** The catalogue's status for disconnected clients. It is never sent. */
const CLIENT_LEFT = 499;

function toArrival(request: FastifyRequest, basePath: string): Arrival {
  const { id, method, url, routeOptions, headers } = request;
  const { url: route = '' } = routeOptions;
  return {
    id,
    method,
    path: (url.split('?', 1)[0] ?? '').slice(0, MAX_PATH_LENGTH),
    endpoint: request.is404 ? null : route.slice(route.startsWith(`${basePath}/`) ? basePath.length : 0),
    traceParent: readTraceParent(headers.traceparent),
  };
}

/** Settings of Fastify's own log lines. Drops those below `warn`, because ours have more details about a request. */
export function logSettings(log: LogOptions | undefined): Pick<FastifyServerOptions, 'logger' | 'logController'> {
  if (log === undefined || log.level === 'silent') return { logger: false };
  return {
    logger: {
      level: log.level === 'error' ? 'error' : 'warn',
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      stream: { write: (line: string) => log.write(line) },
    },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'id' }),
  };
}

/** Probes and scrapers call these endpoints several times a second. */
const ROUTINE: readonly (string | null)[] = ['/live', '/ready', '/health', '/metrics'];

/** Writes a line in the format of Fastify's. */
export function logRequest(log: LogOptions, record: RequestRecord): void {
  const { arrival, timings, model, status } = record;
  const isRoutine = ROUTINE.includes(arrival.endpoint);
  const isProblem = status >= 500 && !(isRoutine && record.errorCode === 'model_loading');
  const level = isProblem ? 'warn' : isRoutine ? 'debug' : 'info';
  if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(log.level)) return;
  const line = {
    level,
    time: new Date().toISOString(),
    id: arrival.id,
    method: arrival.method,
    path: arrival.path,
    status,
    ...(model !== null && { model }),
    ...(record.errorCode !== null && { error: record.errorCode }),
    ...(record.promptTokens > 0 && { prompt_tokens: record.promptTokens, cached_tokens: record.cachedTokens }),
    ...(record.generatedTokens > 0 && { completion_tokens: record.generatedTokens }),
    ...(record.finishReasons.length > 0 && { finish_reason: [...new Set(record.finishReasons)].join(',') }),
    ...(timings && {
      queue_ms: rounded(timings.queuedMs),
      prefill_ms: rounded(timings.promptMs),
      decode_ms: rounded(timings.predictedMs),
    }),
    ...(record.firstTokenMs !== null && { first_token_ms: rounded(record.firstTokenMs) }),
    duration_ms: rounded(record.durationMs ?? 0),
    ...(arrival.traceParent && { traceparent: toTraceParent(arrival.traceParent) }),
    ...(record.prompt !== null && { prompt: record.prompt }),
    msg: 'request',
  };
  log.write(`${JSON.stringify(line)}\n`);
}

/** Rounds to a tenth of a millisecond. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Asks for the report. */
export const REPORT_HEADER = 'x-chasqui-report';
export const REPORT_USAGE = 'usage';

/** The report: prompt tokens, completion tokens, and those of the prompt that were cached, as `120,34,64`. */
export const USAGE_HEADER = 'x-chasqui-usage';

const INTERIM_MS = 250;

/** For replies that are not streamed. Interim replies (1xx) report the usage so far, for requests that are aborted. */
export function reportUsage(app: FastifyInstance): void {
  app.addHook('preHandler', async (request, { raw }) => {
    if (!isAsked(request)) return;
    let last = '0,0,0';
    const timer = setInterval(() => {
      const report = toReport(request.record.computed);
      if (raw.headersSent) clearInterval(timer);
      else if (report !== last) raw.socket?.write(`HTTP/1.1 102 Processing\r\n${USAGE_HEADER}: ${report}\r\n\r\n`);
      last = report;
    }, INTERIM_MS);
    raw.once('close', () => clearInterval(timer));
  });
  app.addHook('onSend', async (request, reply) => {
    if (isAsked(request)) reply.header(USAGE_HEADER, toReport(request.record));
  });
}

/** For streamed replies: call it right before they end. */
export function reportUsageAtEnd(reply: FastifyReply): void {
  const { request, raw } = reply;
  if (isAsked(request) && raw.chunkedEncoding) raw.addTrailers({ [USAGE_HEADER]: toReport(request.record) });
}

function isAsked({ headers, record }: FastifyRequest): boolean {
  // A request with an invalid URL has no record.
  return headers[REPORT_HEADER] === REPORT_USAGE && record !== null;
}

function toReport({ promptTokens, generatedTokens, cachedTokens }: RequestRecord['computed']): string {
  return `${promptTokens},${generatedTokens},${cachedTokens}`;
}
