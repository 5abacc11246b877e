/** The engine's timings → llama.cpp's words for them. */
import type { Finish, TokenStream } from '../../../engine/engine.js';
import type { TimingsReport, TimingsSoFar } from './chat-reply-schema.js';

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

/** The times of one completion while it is computed, by the server's own clock: the engine tells its times at the end. */
export class RunningTimings {
  readonly #began = performance.now();
  readonly #stream: Pick<TokenStream, 'prefill'> | undefined;
  #first: number | null = null;
  #tokens = 0;

  /** The stream of the completion knows how far its prompt is. */
  constructor(stream: Pick<TokenStream, 'prefill'> | undefined) {
    this.#stream = stream;
  }

  /** To be called when tokens arrive. */
  add(tokens: number): void {
    this.#first ??= performance.now();
    this.#tokens += tokens;
  }

  soFar(): TimingsSoFar {
    const now = performance.now();
    const first = this.#first ?? now;
    const { cached = 0, computed = 0 } = this.#stream?.prefill ?? {};
    const promptTokens = Math.max(0, computed - cached);
    return {
      cache_n: cached,
      prompt_n: promptTokens,
      prompt_ms: first - this.#began,
      prompt_per_second: perSecond(promptTokens, first - this.#began),
      predicted_n: this.#tokens,
      predicted_ms: now - first,
      predicted_per_second: perSecond(this.#tokens - 1, now - first),
    };
  }
}

/** 0 where nothing was computed: clients of llama-server expect a number. */
function perSecond(count: number, ms: number): number {
  return count > 0 && ms > 0 ? (1000 * count) / ms : 0;
}
