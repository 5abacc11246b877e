/** What the Developer view watches: requests, points of its plots, lines of the log. */
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
  /** The model that the request names, whichever one it got. */
  requested: orNull(string),
  state: oneOf('waiting', 'prefill', 'decode', 'done', 'failed', 'cancelled'),
  /** How much of the prompt is computed. */
  prefill: number,
  promptTokens: integer,
  cachedTokens: integer,
  completionTokens: integer,
  tokensPerSecond: orNull(number),
  ttftMs: orNull(number),
  durationMs: orNull(number),
  /** Of HTTP; `null` while it runs. */
  status: orNull(integer),
  /** The code of the error. */
  error: orNull(string),
  /** `app`, or how the client calls itself. */
  client: string,
});

export const metricsPoint = objectOf({
  /** Milliseconds since 1970. */
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
    /** The id of the request that it is about, and the log's fields about it. */
    request: string,
    fields: recordOf(anything),
  },
);

export type RequestRow = Static<typeof requestRow>;
export type MetricsPoint = Static<typeof metricsPoint>;
export type LogLine = Static<typeof logLine>;
