/**
 * A job: everything the engine needs to know about one generation. Mirror of `native/core/job.h`.
 *
 * `GenerateOptions` is what callers write (everything optional), `Job` is what the engine takes (nothing left open).
 * `completeJob` is the only place where defaults are applied.
 */

import type { NativeGrammar, NativeReasoningTags, NativeReplyFormat } from '../native/addon.js';
import type { AdapterUse } from './adapter-file.js';
import { toWellFormedJson } from './well-formed-json.js';

/** Supported samplers of llama.cpp, in their default order. */
export const SAMPLERS = [
  'penalties',
  'dry',
  'top_n_sigma',
  'top_k',
  'typ_p',
  'top_p',
  'min_p',
  'xtc',
  'temperature',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

/** The letters of llama.cpp. */
export const SAMPLER_LETTERS: Readonly<Record<string, SamplerName>> = {
  e: 'penalties',
  d: 'dry',
  s: 'top_n_sigma',
  k: 'top_k',
  y: 'typ_p',
  p: 'top_p',
  m: 'min_p',
  x: 'xtc',
  t: 'temperature',
};

/** How the next token is chosen. Names are those of llama.cpp, in camelCase. */
export interface SamplingSettings {
  /** 0 is greedy (the most probable token, always); 1 samples from the model's own distribution. */
  temperature: number;
  /** Keep the k most probable tokens; 0 keeps all. */
  topK: number;
  /** Keep the smallest set of tokens whose probabilities add up to at least this; 1 keeps all. */
  topP: number;
  /** Keep tokens at least this probable relative to the most probable one; 0 keeps all. */
  minP: number;
  /** Divides (or multiplies, when negative) the logit of tokens seen in the last `repeatLastN`; 1 is off. */
  repeatPenalty: number;
  /** How many of the latest tokens, prompt included, the penalties look at; 0 is off, -1 the whole context. */
  repeatLastN: number;
  /** Subtracted from the logit of every token seen in the last `repeatLastN`; 0 is off. */
  presencePenalty: number;
  /** Subtracted once for each time the token was seen in the last `repeatLastN`; 0 is off. */
  frequencyPenalty: number;
  /** Keep the tokens whose surprise is nearest to the expected one, until they have this probability; 1 keeps all. */
  typicalP: number;
  /** Keep tokens whose logits are at most this many standard deviations below the largest; 0 or less keeps all. */
  topNSigma: number;
  /** How often `xtc` leaves out all tokens that reach `xtcThreshold` but the least probable of them; 0 is never. */
  xtcProbability: number;
  /** Above 0.5 `xtc` is off. */
  xtcThreshold: number;
  /** The temperature varies by this much, with how certain the model is; 0 is off. */
  dynatempRange: number;
  dynatempExponent: number;
  /** 1 or 2: this version of Mirostat takes the place of all samplers but the temperature; 0 is off. */
  mirostat: number;
  /** The surprise that Mirostat holds, in bits. */
  mirostatTau: number;
  /** How fast it learns. */
  mirostatEta: number;
  /** Subtracted from the logits of tokens that would prolong a repetition, times `dryBase` for each token that it is longer than allowed; 0 is off. */
  dryMultiplier: number;
  /** Below 1, DRY is off. */
  dryBase: number;
  dryAllowedLength: number;
  /** How many of the latest tokens are searched for repetitions; -1 is all. */
  dryPenaltyLastN: number;
  /** Texts at which repetitions end. */
  drySequenceBreakers: readonly string[];
  /** The samplers to apply, in this order; empty: all, in the order of `SAMPLERS`. */
  samplers: readonly SamplerName[];
  /** Token id → what is added to its logit before anything else; -Infinity bans the token. */
  logitBias: Readonly<Record<number, number>>;
  /**
   * 32 bits; the same seed, prompt and settings give the same text, so that nothing is drafted from the text so far
   * unless the model is batch-invariant (`ModelInfo.batchInvariant`). `null` draws a fresh one.
   */
  seed: number | null;
}

/** Clients and options of llama.cpp use this number for a random seed. */
export const ANY_SEED = 2 ** 32 - 1;

/** The bytes of a PNG, JPEG, BMP or GIF file (first frame), or decoded pixels: rows of three bytes per pixel. */
export type ImageInput = { bytes: Uint8Array } | { width: number; height: number; rgb: Uint8Array };

/** Of `Job.reasoningMessage`, in characters; it is tokenized for each job. */
export const MAX_REASONING_MESSAGE = 2000;

/** Made by `Engine.render`, `grammarOf` or `grammarOfSchema`. */
export type Grammar = NativeGrammar;

export interface Job {
  /** Rendered text (special tokens are parsed) or token ids. */
  prompt: string | readonly number[];
  /** One for each image marker (`ModelInfo.imageMarker`) in the prompt, in order. */
  images: readonly ImageInput[];
  /** `null`: until the end of text or of the context. */
  maxTokens: number | null;
  /** Generation ends before the first of these that would appear in the text; none is empty. */
  stop: readonly string[];
  sampling: SamplingSettings;
  /** Higher ones run first; ten seconds of waiting count as one level. */
  priority: number;
  /** Reuses the longest cached prefix of the prompt. */
  cachePrompt: boolean;
  /** Continues after the end of text, until `maxTokens` or the end of context or grammar. For benchmarks. */
  ignoreEos: boolean;
  /** Alternatives to report with each token's log-probability; `null`: report no log-probabilities. */
  topLogprobs: number | null;
  /** Report the probabilities after all samplers instead of those of the model; some may be missing. */
  logprobsAfter: boolean;
  /** `null`: the text is free. */
  grammar: Grammar | null;
  /** Control tokens that are visible in the text. */
  preservedTokens: readonly string[];
  /** Parses the completion into `Token.deltas`; from `Engine.render`. `null`: plain text. */
  format: NativeReplyFormat | null;
  /** Marks of reasoning, from `Engine.render`; `null`: reasoning is not limited. */
  reasoning: NativeReasoningTags | null;
  /** Tokens of reasoning before it is ended; `null`: as in the load options. */
  reasoningBudget: number | null;
  /** Text that is inserted when the budget ends reasoning; `null`: as in the load options. */
  reasoningMessage: string | null;
  /** Each adapter at most once; `null`: the default of the engine. */
  adapters: readonly AdapterUse[] | null;
}

export type GenerateOptions = Partial<Omit<Job, 'sampling'>> & Partial<SamplingSettings> & Pick<Job, 'prompt'>;

/** A grammar in GBNF that the whole text must match. */
export function grammarOf(gbnf: string): Grammar {
  return { gbnf, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
}

/** A grammar that the engine makes of a JSON schema. */
export function grammarOfSchema(schema: object): Grammar {
  return { ...grammarOf(''), schema: toWellFormedJson(schema) };
}

export const NEUTRAL_SAMPLING: Readonly<SamplingSettings> = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repeatPenalty: 1,
  repeatLastN: 64,
  presencePenalty: 0,
  frequencyPenalty: 0,
  typicalP: 1,
  topNSigma: -1,
  xtcProbability: 0,
  xtcThreshold: 0.1,
  dynatempRange: 0,
  dynatempExponent: 1,
  mirostat: 0,
  mirostatTau: 5,
  mirostatEta: 0.1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryPenaltyLastN: 64,
  drySequenceBreakers: ['\n', ':', '"', '*'],
  samplers: [],
  logitBias: {},
  seed: null,
};

/** Fills in what `options` leaves open from `defaults`. */
export function completeJob(options: GenerateOptions, defaults: Readonly<SamplingSettings> = NEUTRAL_SAMPLING): Job {
  return {
    prompt: options.prompt,
    images: options.images ?? [],
    maxTokens: options.maxTokens ?? null,
    stop: options.stop ?? [],
    priority: options.priority ?? 0,
    cachePrompt: options.cachePrompt ?? true,
    ignoreEos: options.ignoreEos ?? false,
    topLogprobs: options.topLogprobs ?? null,
    logprobsAfter: options.logprobsAfter ?? false,
    grammar: options.grammar ?? null,
    preservedTokens: options.preservedTokens ?? [],
    format: options.format ?? null,
    reasoning: options.reasoning ?? null,
    reasoningBudget: options.reasoningBudget ?? null,
    reasoningMessage: options.reasoningMessage ?? null,
    adapters: options.adapters ?? null,
    sampling: completeSampling(options, defaults),
  };
}

const SETTINGS = Object.keys(NEUTRAL_SAMPLING) as (keyof SamplingSettings)[];

function completeSampling(given: Partial<SamplingSettings>, defaults: Readonly<SamplingSettings>): SamplingSettings {
  return Object.fromEntries(
    SETTINGS.map((name) => [name, given[name] ?? defaults[name]]),
  ) as unknown as SamplingSettings;
}
