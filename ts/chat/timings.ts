/** The engine's timings → llama.cpp's words for them. */
import type { Finish } from '../engine/engine.js';
import type { TimingsReport } from '../schemas/chat-response.js';

export function toTimings(finish: Finish): TimingsReport {
  const { queuedMs, promptMs, predictedMs } = finish.timings;
  const promptTokens = finish.promptTokens - finish.cachedTokens;
  const report: TimingsReport = {
    queued_ms: queuedMs,
    cache_n: finish.cachedTokens,
    prompt_n: promptTokens,
    prompt_ms: promptMs,
    prompt_per_second: perSecond(promptTokens, promptMs),
    predicted_n: finish.completionTokens,
    predicted_ms: predictedMs,
    // The time begins with the first token.
    predicted_per_second: perSecond(finish.completionTokens - 1, predictedMs),
  };
  if (finish.draftedTokens > 0) {
    report.draft_n = finish.draftedTokens;
    report.draft_n_accepted = finish.acceptedTokens;
  }
  return report;
}

function perSecond(count: number, ms: number): number | null {
  return count > 0 && ms > 0 ? (1000 * count) / ms : null;
}
