/** Data of the Developer view: requests, plot points and log lines. */
import {
  anything,
  integer,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
} from '../../http/schema/json-schema.js';

export const requestRow = objectOf({
  id: string,
  /** Milliseconds since 1970. */
  at: number,
  endpoint: string,
  model: orNull(string),
  /** Model name as requested. */
  requested: orNull(string),
  state: oneOf('waiting', 'prefill', 'decode', 'done', 'failed', 'cancelled'),
  /** Prefill progress. */
  prefill: number,
  promptTokens: integer,
  cachedTokens: integer,
  completionTokens: integer,
  tokensPerSecond: orNull(number),
  ttftMs: orNull(number),
  durationMs: orNull(number),
  /** HTTP status; `null` while running. */
  status: orNull(integer),
  error: orNull(string),
  /** `app`, or the client's user agent. */
  client: string,
});

export const metricsPoint = objectOf({
  at: number,
  tokensPerSecond: number,
  ttftP50: orNull(number),
  ttftP95: orNull(number),
  running: integer,
  queued: integer,
  kvUsage: number,
  memoryBytes: number,
});

export const logLine = objectOf(
  { at: number, level: oneOf('debug', 'info', 'warn', 'error'), message: string },
  {
    /** Id of the related request, and its log fields. */
    request: string,
    fields: recordOf(anything),
  },
);

export type RequestRow = Static<typeof requestRow>;
export type MetricsPoint = Static<typeof metricsPoint>;
export type LogLine = Static<typeof logLine>;
