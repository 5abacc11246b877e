/** The settings of a job under llama.cpp's names. */
import type { Finish, ModelInfo } from '../../../engine/engine.js';
import type { Job } from '../../../engine/job.js';
import { ANY_SEED, fieldOf } from '../../../options/sampling-table.js';
import { toTimings } from './reply-fields.js';

/** A job that ignores the end of text lists the tokens for it as llama-server does: banned, and JSON has no -Infinity. */
export function toGenerationSettings(
  job: Job,
  { endTokens, adaptersInUse = [] }: Pick<ModelInfo, 'endTokens' | 'adaptersInUse'>,
  { stream }: { stream: boolean },
): Record<string, unknown> {
  const { logitBias, seed, ...sampling } = job.sampling;
  const limit = job.maxTokens ?? -1;
  return {
    seed: seed ?? ANY_SEED,
    ...Object.fromEntries(Object.entries(sampling).map(([name, value]) => [fieldOf(name), value])),
    logit_bias: [
      ...Object.entries(logitBias).map(([token, bias]) => ({ token: Number(token), bias })),
      ...(job.ignoreEos ? endTokens.map((token) => ({ token, bias: null })) : []),
    ],
    stop: job.stop,
    max_tokens: limit,
    n_predict: limit,
    ignore_eos: job.ignoreEos,
    stream,
    n_probs: job.topLogprobs ?? 0,
    grammar: job.grammar?.gbnf ?? '',
    post_sampling_probs: job.logprobsAfter,
    lora: (job.adapters ?? adaptersInUse).map(({ adapter, scale }) => ({ id: adapter, scale })),
  };
}

/** The end of a completion, as replies of `/completion` report it. */
export function toEnding(finish: Finish, { contextLength }: Pick<ModelInfo, 'contextLength'>) {
  const timings = toTimings(finish);
  return {
    tokens_predicted: finish.completionTokens,
    tokens_evaluated: finish.promptTokens,
    truncated: finish.reason === 'length' && finish.promptTokens + finish.completionTokens >= contextLength,
    stop_type: finish.reason === 'length' ? 'limit' : finish.stopString === null ? 'eos' : 'word',
    stopping_word: finish.stopString ?? '',
    tokens_cached: finish.cachedTokens,
    timings: {
      ...timings,
      prompt_per_token_ms: each(timings.prompt_ms, timings.prompt_n),
      // The time begins with the first token.
      predicted_per_token_ms: each(timings.predicted_ms, timings.predicted_n - 1),
    },
  } as const;
}

function each(ms: number, count: number): number {
  return count > 0 ? ms / count : 0;
}
