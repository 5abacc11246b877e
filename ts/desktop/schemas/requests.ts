/** Data of the Developer view: requests, plot points and log lines. */
import * as s from '../../http/schema/json-schema.js';

export const requestRow = s.objectOf({
  id: s.string,
  /** Milliseconds since 1970. */
  at: s.number,
  endpoint: s.string,
  model: s.orNull(s.string),
  /** Model name as requested. */
  requested: s.orNull(s.string),
  state: s.oneOf('waiting', 'prefill', 'decode', 'done', 'failed', 'cancelled'),
  /** Prefill progress. */
  prefill: s.number,
  promptTokens: s.integer,
  cachedTokens: s.integer,
  completionTokens: s.integer,
  tokensPerSecond: s.orNull(s.number),
  ttftMs: s.orNull(s.number),
  durationMs: s.orNull(s.number),
  /** HTTP status; `null` while running. */
  status: s.orNull(s.integer),
  error: s.orNull(s.string),
  /** `app`, or the client's user agent. */
  client: s.string,
});

export const metricsPoint = s.objectOf({
  at: s.number,
  tokensPerSecond: s.number,
  ttftP50: s.orNull(s.number),
  ttftP95: s.orNull(s.number),
  running: s.integer,
  queued: s.integer,
  kvUsage: s.number,
  memoryBytes: s.number,
});

export const logLine = s.objectOf(
  { at: s.number, level: s.oneOf('debug', 'info', 'warn', 'error'), message: s.string },
  {
    /** Id of the related request, and its log fields. */
    request: s.string,
    fields: s.recordOf(s.anything),
  },
);

export type RequestRow = s.Static<typeof requestRow>;
export type MetricsPoint = s.Static<typeof metricsPoint>;
export type LogLine = s.Static<typeof logLine>;
