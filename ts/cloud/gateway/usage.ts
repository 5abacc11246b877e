/** Usage records of requests, and the usage reports of runners (`http/observe-requests.ts`). */
import { REPORT_HEADER, REPORT_USAGE, USAGE_HEADER } from '../../http/observe-requests.js';
import { headerOf, type ReplyHead } from './reply-reader.js';

export interface RequestUsage {
  /** Null for a public app called without a key. */
  readonly keyId: string | null;
  readonly org: string;
  readonly app: string;
  readonly at: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Prompt tokens that came from the runner's cache. */
  readonly cachedTokens: number;
  /** HTTP status; 499 if the client had closed the connection. */
  readonly status: number;
  /** Duration, including the wait for a runner. */
  readonly ms: number;
}

/** With latencies, for metrics. */
export interface TimedUsage extends RequestUsage {
  /** Wait for a runner; null if it got none. */
  readonly waitedMs: number | null;
  /** Time to the first byte of the completion; null if there was none. */
  readonly firstByteMs: number | null;
}

export interface UsageSink {
  /** Called once per admitted request, at its end. `replaces`: its last `progress`. Must not throw. */
  add(use: TimedUsage, replaces: RequestUsage | null): void;
  /** Called about once per second while a runner computes the request. Must not throw. */
  progress(use: RequestUsage, replaces: RequestUsage | null): void;
}

export interface TokenCounts {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

export const NO_TOKENS: TokenCounts = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/** Request header that asks for the report. */
export const ASK_FOR_REPORT = [REPORT_HEADER, REPORT_USAGE] as const;

export function readReport(from: Pick<ReplyHead, 'headers'>): TokenCounts | null {
  const [, prompt, completion, cached] =
    /^(\d{1,12}),(\d{1,12}),(\d{1,12})$/.exec(headerOf(from, USAGE_HEADER) ?? '') ?? [];
  if (prompt === undefined) return null;
  return { promptTokens: Number(prompt), completionTokens: Number(completion), cachedTokens: Number(cached) };
}
