/** The settings of a job under llama.cpp's names. */
import type { ModelInfo } from '../../../engine/engine.js';
import type { Job } from '../../../engine/job.js';
import { ANY_SEED } from '../../../options/sampling-table.js';

/** A job that ignores the end of text lists the tokens for it as llama-server does: banned, and JSON has no -Infinity. */
export function toGenerationSettings(
  job: Job,
  { endTokens }: Pick<ModelInfo, 'endTokens'>,
  { stream }: { stream: boolean },
): Record<string, unknown> {
  const { logitBias, seed, ...sampling } = job.sampling;
  const limit = job.maxTokens ?? -1;
  return {
    seed: seed ?? ANY_SEED,
    ...Object.fromEntries(Object.entries(sampling).map(([name, value]) => [toSnakeCase(name), value])),
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
    lora: (job.adapters ?? []).map(({ adapter, scale }) => ({ id: adapter, scale })),
  };
}

/** `repeatLastN` → `repeat_last_n` */
function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
