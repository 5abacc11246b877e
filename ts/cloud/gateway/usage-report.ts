/** What a runner says that a request has used (`http/report-usage.ts`). */
import { REPORT_HEADER, REPORT_USAGE, USAGE_HEADER } from '../../http/report-usage.js';
import { headerOf, type ReplyHead } from './reply-reader.js';

export interface TokenCounts {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

export const NO_TOKENS: TokenCounts = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/** Asks the runner for its report. */
export const ASK_FOR_REPORT = [REPORT_HEADER, REPORT_USAGE] as const;

/** Returns null where there is no report. */
export function readReport(from: Pick<ReplyHead, 'headers'>): TokenCounts | null {
  const [, prompt, completion, cached] =
    /^(\d{1,12}),(\d{1,12}),(\d{1,12})$/.exec(headerOf(from, USAGE_HEADER) ?? '') ?? [];
  if (prompt === undefined) return null;
  return { promptTokens: Number(prompt), completionTokens: Number(completion), cachedTokens: Number(cached) };
}
