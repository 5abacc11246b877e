/** What the Developer view watches: requests, points of its plots, lines of the log. */
import { type Static, Type } from 'typebox';

const nullableNumber = Type.Union([Type.Number(), Type.Null()]);
const nullableText = Type.Union([Type.String(), Type.Null()]);

export const requestRow = Type.Object({
  id: Type.String(),
  /** Milliseconds since 1970. */
  at: Type.Number(),
  endpoint: Type.String(),
  model: nullableText,
  /** The model that the request names, whichever one it got. */
  requested: nullableText,
  state: Type.Enum(['waiting', 'prefill', 'decode', 'done', 'failed', 'cancelled']),
  /** How much of the prompt is computed. */
  prefill: Type.Number(),
  promptTokens: Type.Integer(),
  cachedTokens: Type.Integer(),
  completionTokens: Type.Integer(),
  tokensPerSecond: nullableNumber,
  ttftMs: nullableNumber,
  durationMs: nullableNumber,
  /** Of HTTP; `null` while it runs. */
  status: Type.Union([Type.Integer(), Type.Null()]),
  /** The code of the error. */
  error: nullableText,
  /** `app`, or how the client calls itself. */
  client: Type.String(),
});

export const metricsPoint = Type.Object({
  /** Milliseconds since 1970. */
  at: Type.Number(),
  tokensPerSecond: Type.Number(),
  ttftP50: nullableNumber,
  ttftP95: nullableNumber,
  running: Type.Integer(),
  queued: Type.Integer(),
  kvUsage: Type.Number(),
  memoryBytes: Type.Number(),
});

export const logLine = Type.Object({
  at: Type.Number(),
  level: Type.Enum(['debug', 'info', 'warn', 'error']),
  message: Type.String(),
  /** The id of the request that it is about, and the log's fields about it. */
  request: Type.Optional(Type.String()),
  fields: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

export type RequestRow = Static<typeof requestRow>;
export type MetricsPoint = Static<typeof metricsPoint>;
export type LogLine = Static<typeof logLine>;
