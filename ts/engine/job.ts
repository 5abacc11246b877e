/**
 * A job: everything that the engine needs for one generation. Mirrors `native/core/job.h`.
 *
 * Callers pass `GenerateOptions`; nearly all its fields are optional. `completeJob` alone applies the defaults.
 */

import { invalidOptions } from '../errors.js';
import type { NativeGrammar, NativeReasoningTags, NativeReplyFormat } from '../native/addon.js';
import { MAX_REASONING_MESSAGE, MODEL_OPTIONS } from '../options/model-option-table.js';
import { NEUTRAL_SAMPLING, type SamplingSettings } from '../options/sampling-table.js';
import type { AdapterUse } from './adapter-file.js';
import type { LoadOptions } from './load-options.js';

/** The bytes of a PNG, JPEG, BMP or GIF file (first frame), or decoded pixels: rows of three bytes per pixel. */
export type ImageInput = { bytes: Uint8Array } | { width: number; height: number; rgb: Uint8Array } | AudioInput;

/** The bytes of a WAV, MP3 or FLAC file. It takes the place of an image. */
export interface AudioInput {
  audio: Uint8Array;
}

export function kindOf(image: ImageInput): 'image' | 'audio' {
  return 'audio' in image ? 'audio' : 'image';
}

/** Made by `Engine.render`, `grammarOf` or `grammarOfSchema`. */
export type Grammar = NativeGrammar;

export interface Job {
  /** Rendered text (special tokens are parsed) or token ids. */
  prompt: string | readonly number[];
  /** One for each image marker (`ModelInfo.imageMarker`) in the prompt, in order. Default: none. */
  images: readonly ImageInput[];
  /** Tokens; `null`, the default: until the end of text or of the context. */
  maxTokens: number | null;
  /** Generation ends before the first of these that would appear in the text; none is empty. Default: none. */
  stop: readonly string[];
  /** Stop strings of the template, from `Engine.render`. Unlike `stop`, they also apply within reasoning and tool calls. */
  formatStops: readonly string[];
  sampling: SamplingSettings;
  /** Higher ones run first; ten seconds of waiting count as one level. Default: 0. */
  priority: number;
  /** Reuses the longest cached prefix of the prompt. Default: true. */
  cachePrompt: boolean;
  /** Reuses only prefixes of jobs with the same salt. Default: the empty text. */
  cacheSalt: string;
  /** For benchmarks: continues after the end of text, until `maxTokens` or the end of context or grammar. Default: false. */
  ignoreEos: boolean;
  /** Alternatives to report with each token's log-probability; `null`, the default: report none. */
  topLogprobs: number | null;
  /** Alternatives to report with the log-probability of each prompt token after the first (`TokenStream.promptLogprobs`). */
  promptLogprobs: number | null;
  /** Report the probabilities after all samplers instead of those of the model; some may be missing. Default: false. */
  logprobsAfter: boolean;
  /** `null`, the default: the text is free. */
  grammar: Grammar | null;
  /** Control tokens that are visible in the text. Default: none. */
  preservedTokens: readonly string[];
  /** Parses the completion into `Token.deltas`; from `Engine.render`. `null`: plain text. */
  format: NativeReplyFormat | null;
  /** Marks of reasoning, from `Engine.render`; `null`: reasoning is not limited. */
  reasoning: NativeReasoningTags | null;
  /**
   * Tokens of reasoning before it is ended; `null`, the default: as in the load options, and at most half of `maxTokens`
   * before a forced call.
   */
  reasoningBudget: number | null;
  /** Text that is inserted when the budget ends reasoning; `null`, the default: as in the load options. */
  reasoningMessage: string | null;
  /** The reasoning can be ended while it runs (`TokenStream.control`). Default: false. */
  reasoningControl: boolean;
  /** Each adapter at most once; `null`, the default: those in use by the engine. */
  adapters: readonly AdapterUse[] | null;
}

export type GenerateOptions = Partial<Omit<Job, 'sampling'>> & Partial<SamplingSettings> & Pick<Job, 'prompt'>;

/** A grammar in GBNF that the whole text must match. */
export function grammarOf(gbnf: string): Grammar {
  return { gbnf, lazy: false, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
}

export function grammarOfSchema(schema: object): Grammar {
  return { ...grammarOf(''), schema: replaceLoneSurrogates(JSON.stringify(schema)) };
}

/** Native code reads UTF-8, which cannot encode a lone surrogate. Most come from texts that were cut inside an emoji. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** A pair, a lone surrogate, or any other escape; the last so that an escaped backslash begins no surrogate. */
const ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;
const ESCAPE_LENGTH = '\\ud800'.length;
const REPLACEMENT = '\\ufffd';

/** Replaces escaped lone surrogates in JSON by U+FFFD, as `String.prototype.toWellFormed` does in texts. */
export function replaceLoneSurrogates(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPES, (each) => (each.length === ESCAPE_LENGTH ? REPLACEMENT : each));
}

/** Fills in what `options` leaves open from `defaults`. */
export function completeJob(options: GenerateOptions, defaults: Readonly<SamplingSettings> = NEUTRAL_SAMPLING): Job {
  return {
    prompt: options.prompt,
    images: options.images ?? [],
    maxTokens: options.maxTokens ?? null,
    stop: options.stop ?? [],
    formatStops: options.formatStops ?? [],
    priority: options.priority ?? 0,
    cachePrompt: options.cachePrompt ?? true,
    cacheSalt: options.cacheSalt ?? '',
    ignoreEos: options.ignoreEos ?? false,
    topLogprobs: options.topLogprobs ?? null,
    promptLogprobs: options.promptLogprobs ?? null,
    logprobsAfter: options.logprobsAfter ?? false,
    grammar: options.grammar ?? null,
    preservedTokens: options.preservedTokens ?? [],
    format: options.format ?? null,
    reasoning: options.reasoning ?? null,
    reasoningBudget: options.reasoningBudget ?? null,
    reasoningMessage: options.reasoningMessage ?? null,
    reasoningControl: options.reasoningControl ?? false,
    adapters: options.adapters ?? null,
    sampling: Object.fromEntries(
      SETTINGS.map((name) => [name, options[name] ?? defaults[name]]),
    ) as unknown as SamplingSettings,
  };
}

const SETTINGS = Object.keys(NEUTRAL_SAMPLING) as (keyof SamplingSettings)[];

type ReasoningFields = Pick<
  Job,
  'reasoning' | 'reasoningBudget' | 'reasoningMessage' | 'reasoningControl' | 'stop' | 'grammar' | 'maxTokens'
>;

/** The limits that `loadModel` sets for jobs without their own. */
export interface ReasoningLimits {
  /** `null`: unlimited. */
  budget: number | null;
  message: string;
}

/** @throws {ChasquiError} `invalid_options` */
export function reasoningLimits(options: LoadOptions): ReasoningLimits {
  const { reasoningBudget = MODEL_OPTIONS.reasoningBudget.default, reasoningBudgetMessage = '' } = options;
  const { length } = reasoningBudgetMessage;
  if (length > MAX_REASONING_MESSAGE) {
    const limit = `${length} characters; the limit is ${MAX_REASONING_MESSAGE}`;
    throw invalidOptions(`\`reasoningBudgetMessage\` has ${limit}.`);
  }
  return { budget: reasoningBudget < 0 ? null : reasoningBudget, message: reasoningBudgetMessage };
}

/** The most tokens that native code can count. */
const UNLIMITED = 2 ** 31 - 1;

export interface ReasoningLimit extends NativeReasoningTags {
  maxTokens: number;
  message: string;
}

/** The limit on the reasoning of a job; `null`: unlimited. Jobs with stop strings have one, because the engine follows it. */
export function reasoningLimitOf(
  { reasoning, reasoningBudget, reasoningMessage, reasoningControl, stop, grammar, maxTokens }: ReasoningFields,
  defaults: ReasoningLimits,
): ReasoningLimit | null {
  const isCallForced = grammar?.calls === true && !grammar.lazy;
  // Leaves half of the tokens to the call.
  const beforeCall = isCallForced && maxTokens !== null ? Math.floor(maxTokens / 2) : null;
  const limits = [defaults.budget, beforeCall].filter((limit) => limit !== null);
  const unlimited = stop.length > 0 || reasoningControl ? UNLIMITED : null;
  const unset = limits.length > 0 ? Math.min(...limits) : unlimited;
  const budget = reasoningBudget ?? unset;
  if (reasoning === null || budget === null) return null;
  const message = beforeTag(reasoningMessage ?? defaults.message, reasoning.ends);
  return { ...reasoning, maxTokens: budget, message };
}

/** Cuts a message off at a closing tag: one is written after it in any case, and a second one would be text. */
function beforeTag(message: string, tags: readonly string[]): string {
  const places = tags.map((tag) => message.indexOf(tag.trim() || tag)).filter((place) => place >= 0);
  return message.slice(0, Math.min(...places, message.length));
}
