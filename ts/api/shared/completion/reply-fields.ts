import { randomBytes } from 'node:crypto';
import type { Finish, TokenStream } from '../../../engine/engine.js';
import { VERSION } from '../../../version.js';
import type { ChatCompletionRequest } from '../chat/chat-schema.js';
import type { PromptProgressReport, TimingsReport, TimingsSoFar, Usage } from './chat-reply-schema.js';

/** The first fields of a whole reply and of all its chunks. */
export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** Identifies the build and model. A seed gives the same completion only while this value is unchanged. */
  system_fingerprint: string;
}

export function newCompletionHead(model: string, prefix: 'chatcmpl' | 'cmpl' = 'chatcmpl'): CompletionHead {
  return {
    id: `${prefix}-${randomBytes(16).toString('hex')}`,
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: `chasqui-${VERSION}`,
  };
}

/**
 * Counts of all choices. Their common prompt counts once. Its cached tokens are those that every choice found, because
 * the request computed the others. `reasoningTokens`: number of reasoning tokens of all choices; with `null`, as for
 * text completions, the usage omits them.
 */
export function toUsage(choices: readonly Finish[], reasoningTokens: number | null = null): Usage {
  const promptTokens = choices[0]?.promptTokens ?? 0;
  const completionTokens = choices.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(...choices.map(({ cachedTokens }) => cachedTokens)) },
    ...(reasoningTokens !== null && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}

/** The usage of two completions together. */
export function addUsage(one: Usage, other: Usage): Usage {
  const reasoningTokens = one.completion_tokens_details?.reasoning_tokens ?? 0;
  const { reasoning_tokens: more } = other.completion_tokens_details ?? {};
  return {
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    prompt_tokens_details: {
      cached_tokens: one.prompt_tokens_details.cached_tokens + other.prompt_tokens_details.cached_tokens,
    },
    ...(more !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens + more } }),
  };
}

/** The sum over all choices; 0 for completions without a format, which do not separate reasoning. */
export function totalReasoningTokens(choices: readonly { reasoningTokens: number | null }[]): number {
  return choices.reduce((sum, { reasoningTokens }) => sum + (reasoningTokens ?? 0), 0);
}

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

/** The times of a running completion by the server's clock. The engine reports its own times only at the end. */
export class RunningTimings {
  readonly #began = performance.now();
  #first: number | null = null;
  #tokens = 0;

  /** The stream of the completion reports the progress of its prompt. */
  constructor(private readonly stream: Pick<TokenStream, 'prefill'> | undefined) {}

  /** Call this when tokens arrive. */
  add(tokens: number): void {
    this.#first ??= performance.now();
    this.#tokens += tokens;
  }

  /** `processed`: the prompt tokens of a progress report, which covers no completion; default: all that are computed. */
  soFar(processed?: number): TimingsSoFar {
    const now = performance.now();
    const first = this.#first ?? now;
    const { cached = 0, computed = 0 } = this.stream?.prefill ?? {};
    const promptTokens = Math.max(0, (processed ?? computed) - cached);
    const promptMs = promptTokens > 0 ? first - this.#began : 0;
    const tokens = processed === undefined ? this.#tokens : 0;
    const tokensMs = processed === undefined ? now - first : 0;
    return {
      cache_n: cached,
      prompt_n: promptTokens,
      prompt_ms: promptMs,
      prompt_per_second: perSecond(promptTokens, promptMs),
      predicted_n: tokens,
      predicted_ms: tokensMs,
      predicted_per_second: perSecond(tokens - 1, tokensMs),
    };
  }
}

/** The usage of running completions, which each chunk reports with `continuous_usage_stats`. */
export class RunningUsage {
  #tokens = 0;

  /** `prompts`: the first stream of each prompt. */
  constructor(private readonly prompts: readonly Pick<TokenStream, 'prefill'>[]) {}

  /** Call this when tokens of any choice arrive. */
  add(tokens: number): void {
    this.#tokens += tokens;
  }

  soFar(): Usage {
    let [prompt, cached] = [0, 0];
    for (const { prefill } of this.prompts) {
      prompt += prefill?.total ?? 0;
      cached += prefill?.cached ?? 0;
    }
    return {
      prompt_tokens: prompt,
      completion_tokens: this.#tokens,
      total_tokens: prompt + this.#tokens,
      prompt_tokens_details: { cached_tokens: cached },
    };
  }
}

export function runningUsage(
  options: ChatCompletionRequest['stream_options'],
  prompts: readonly Pick<TokenStream, 'prefill'>[],
): RunningUsage | undefined {
  return options?.include_usage && options.continuous_usage_stats ? new RunningUsage(prompts) : undefined;
}

/** 0 if nothing was computed: clients of llama-server expect a number. */
function perSecond(count: number, ms: number): number {
  return count > 0 && ms > 0 ? (1000 * count) / ms : 0;
}

export class PromptProgress {
  readonly #began = performance.now();
  #reported = -1;

  constructor(private readonly stream: Pick<TokenStream, 'prefill'>) {}

  /** The progress since the last call. The first report has the cached tokens, the last one the whole prompt. */
  take(): PromptProgressReport[] {
    const { cached, computed = 0, total = 0 } = this.stream.prefill ?? {};
    if (cached === undefined) return [];
    const reports: PromptProgressReport[] = [];
    for (const processed of [cached, computed]) {
      if (processed <= this.#reported) continue;
      this.#reported = processed;
      reports.push({ total, cache: cached, processed, time_ms: Math.round(performance.now() - this.#began) });
    }
    return reports;
  }
}
