/** The log: a line of JSON for each request when its reply is over, and one for each error of the server itself. */
import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify';
import type { RequestRecord } from '../metrics/request-record.js';
import { toTraceParent } from '../metrics/trace-parent.js';
import type { LOG_LEVELS } from './log-levels.js';

export interface LogOptions {
  /** `debug` adds probes and scrapes, `warn` leaves only requests with a status of 500 or more. */
  level: (typeof LOG_LEVELS)[number];
  /** Includes the beginnings of prompts; default false. */
  prompts?: boolean;
  /** Called with one line at a time, including its line break. */
  write(line: string): void;
}

type LogSettings = Pick<FastifyServerOptions, 'logger' | 'logController' | 'childLoggerFactory'>;

/** Fastify's settings. Of its own lines only warnings are kept, because ours say more about a request. */
export function logSettings(log: LogOptions | undefined): LogSettings {
  if (log === undefined || log.level === 'silent') return { logger: false };
  const { level } = log;
  return {
    logger: {
      level: level === 'error' ? 'error' : 'warn',
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      stream: { write: (line: string) => log.write(line) },
    },
    childLoggerFactory: (logger, bindings, options) => logger.child(bindings, { ...options, level }),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'id' }),
  };
}

/** Machines call these endpoints several times a second. */
const ROUTINE: readonly (string | null)[] = ['/live', '/ready', '/health', '/metrics'];

/** `log` must be the request's, which adds the request's id. */
export function logRequest(log: FastifyBaseLogger, record: RequestRecord): void {
  const { status, arrival } = record;
  const level = status >= 500 ? 'warn' : ROUTINE.includes(arrival.endpoint) ? 'debug' : 'info';
  log[level](toFields(record), 'request');
}

function toFields(record: RequestRecord): Record<string, unknown> {
  const { arrival, timings, model, status } = record;
  return {
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
  };
}

/** Rounds to a tenth of a millisecond. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
