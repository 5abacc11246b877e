/** Valid body + rendered prompt → job. What the request leaves open comes from the mode's profile. */
import type {
  Engine,
  ModelInfo,
  ReasoningTags,
  RenderedPrompt,
  SubmitOptions,
  TokenStream,
} from '../../../engine/engine.js';
import {
  ANY_SEED,
  completeJob,
  type GenerateOptions,
  grammarOf,
  type Job,
  NEUTRAL_SAMPLING,
  SAMPLER_LETTERS,
  type SamplerName,
  type SamplingSettings,
} from '../../../engine/job.js';
import type { Profile } from '../../../profiles/profile.js';
import { submitChoices } from '../completion/stream-reply.js';
import type { ChatCompletionRequest, ChatParameter } from './chat-schema.js';
import { toAdapterUses } from './to-adapters.js';

/** What a request does not say: the model's options go before the mode's defaults. */
export function samplingDefaults(profile: Profile, { sampling }: Pick<ModelInfo, 'sampling'>): SamplingSettings {
  return { ...profile.sampling, ...sampling };
}

export function toJob(
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  profile: Profile,
  model: Pick<ModelInfo, 'sampling'> = {},
): Job {
  const options: GenerateOptions = {
    prompt: rendered.prompt,
    images: rendered.images,
    stop: [...toStopStrings(body.stop), ...rendered.additionalStops],
    maxTokens: toMaxTokens(body),
    grammar: body.grammar === undefined ? rendered.grammar : grammarOf(body.grammar),
    preservedTokens: rendered.preservedTokens,
    format: rendered.format,
    reasoning: toReasoningTags(body, rendered),
    reasoningBudget: toReasoningBudget(body),
    ...(body.reasoning_budget_message !== undefined && { reasoningMessage: body.reasoning_budget_message }),
    topLogprobs: body.logprobs ? (body.top_logprobs ?? 0) : null,
    ...(body.ignore_eos !== undefined && { ignoreEos: body.ignore_eos }),
    ...(body.cache_prompt !== undefined && { cachePrompt: body.cache_prompt }),
    ...(body.priority !== undefined && { priority: Math.min(body.priority, profile.maxPriority) }),
    ...toSampling(body),
  };
  return completeJob(options, samplingDefaults(profile, model));
}

/** What users of other servers send for a limit or a seed that they do not set. */
const UNSET = -1;

/** The engine counts tokens in 32 bits; no context is that long. */
const MAX_TOKENS = 2 ** 31 - 1;

/**
 * The engine samples in 32-bit floats, where extreme values would become infinite or zero and the probabilities NaN.
 * Beyond these bounds larger values change nothing: 10^6 flattens any distribution, 10^-6 makes it greedy.
 */
const MAX_MAGNITUDE = 1e6;
const MIN_MAGNITUDE = 1e-6;

type NumberSetting = Exclude<keyof SamplingSettings, 'logitBias' | 'drySequenceBreakers' | 'samplers'>;

/**
 * The fields that set a number of the sampler: which setting, and how the value becomes one. Where a request leaves them
 * open, the mode's profile has the value. Of two fields with one setting the later row wins.
 */
export const SAMPLING_FIELDS = {
  temperature: ['temperature', toTemperature],
  top_k: ['topK', (count) => Math.min(Math.max(count, 0), MAX_TOKENS)],
  top_p: ['topP', (share) => share],
  min_p: ['minP', (share) => share],
  repeat_penalty: ['repeatPenalty', (penalty) => within(penalty, MIN_MAGNITUDE)],
  repetition_penalty: ['repeatPenalty', (penalty) => within(penalty, MIN_MAGNITUDE)],
  presence_penalty: ['presencePenalty', (penalty) => within(penalty, -MAX_MAGNITUDE)],
  frequency_penalty: ['frequencyPenalty', (penalty) => within(penalty, -MAX_MAGNITUDE)],
  repeat_last_n: ['repeatLastN', (count) => Math.min(count, MAX_TOKENS)],
  typical_p: ['typicalP', (share) => Math.min(share, 1)],
  top_n_sigma: ['topNSigma', (deviations) => within(deviations, -1)],
  xtc_probability: ['xtcProbability', (share) => share],
  xtc_threshold: ['xtcThreshold', (share) => share],
  dynatemp_range: ['dynatempRange', (range) => within(range, 0)],
  dynatemp_exponent: ['dynatempExponent', (exponent) => within(exponent, 0)],
  mirostat: ['mirostat', (version) => version],
  mirostat_tau: ['mirostatTau', (bits) => within(bits, 0)],
  mirostat_eta: ['mirostatEta', (rate) => within(rate, 0)],
  dry_multiplier: ['dryMultiplier', (penalty) => within(penalty, -MAX_MAGNITUDE)],
  dry_base: ['dryBase', (base) => (base < 1 ? NEUTRAL_SAMPLING.dryBase : within(base, 1))],
  dry_allowed_length: ['dryAllowedLength', (count) => Math.min(count, MAX_TOKENS)],
  dry_penalty_last_n: ['dryPenaltyLastN', (count) => Math.min(count, MAX_TOKENS)],
} as const satisfies Partial<Record<ChatParameter, readonly [NumberSetting, (value: number) => number]>>;

const samplingFields = Object.keys(SAMPLING_FIELDS) as (keyof typeof SAMPLING_FIELDS)[];

function toSampling(body: ChatCompletionRequest): Partial<SamplingSettings> {
  const sampling: Partial<SamplingSettings> = {};
  for (const field of samplingFields) {
    const value = body[field];
    const [setting, toSetting] = SAMPLING_FIELDS[field];
    if (value !== undefined) sampling[setting] = toSetting(value);
  }
  if (body.logit_bias !== undefined) sampling.logitBias = toLogitBias(body.logit_bias);
  if (body.dry_sequence_breakers !== undefined) sampling.drySequenceBreakers = body.dry_sequence_breakers;
  if (body.samplers !== undefined) sampling.samplers = toSamplers(body.samplers);
  if (body.seed !== undefined && body.seed !== UNSET && body.seed !== ANY_SEED) sampling.seed = foldSeed(body.seed);
  return sampling;
}

/** Names, of which `typical_p` is that of the field, or letters. */
function toSamplers(samplers: Exclude<ChatCompletionRequest['samplers'], undefined>): readonly SamplerName[] {
  const names = typeof samplers === 'string' ? [...samplers].map((letter) => SAMPLER_LETTERS[letter]) : samplers;
  return names.flatMap((name) => (name === 'typical_p' ? 'typ_p' : (name ?? [])));
}

function within(value: number, min: number): number {
  return Math.min(Math.max(value, min), MAX_MAGNITUDE);
}

function toLogitBias(biases: Readonly<Record<string, number>>): Record<number, number> {
  return Object.fromEntries(Object.entries(biases).map(([token, bias]) => [token, within(bias, -MAX_MAGNITUDE)]));
}

function toTemperature(temperature: number): number {
  return temperature < MIN_MAGNITUDE ? 0 : Math.min(temperature, MAX_MAGNITUDE);
}

function toMaxTokens(body: ChatCompletionRequest): number | null {
  const limits = [body.max_completion_tokens, body.max_tokens, body.n_predict];
  const limit = limits.find((each) => each !== undefined && each !== UNSET);
  return limit === undefined ? null : Math.min(limit, MAX_TOKENS);
}

/**
 * The tags between which a completion reasons; `null` where that cannot be told. A grammar of the request's own that does
 * not mention how reasoning ends has no place for it: a tag would be written within what the grammar is about.
 */
export function toReasoningTags(
  { grammar }: Pick<ChatCompletionRequest, 'grammar'>,
  { reasoning }: Pick<RenderedPrompt, 'reasoning'>,
): ReasoningTags | null {
  const hasPlace = grammar === undefined || reasoning?.ends.some((end) => grammar.includes(end));
  return hasPlace ? reasoning : null;
}

/** `null`: as the server's options say, which is what -1 means in a request. */
export function toReasoningBudget(
  body: Pick<ChatCompletionRequest, 'reasoning_budget_tokens' | 'thinking_budget_tokens'>,
): number | null {
  const budgets = [body.reasoning_budget_tokens, body.thinking_budget_tokens];
  const budget = budgets.find((each) => each !== undefined && each !== UNSET);
  return budget === undefined ? null : Math.min(budget, MAX_TOKENS);
}

function toStopStrings(stop: ChatCompletionRequest['stop']): readonly string[] {
  return [stop ?? []].flat().filter((text) => text !== '');
}

/** Both halves of a 64-bit seed count, and a 32-bit one stays as it is. */
function foldSeed(seed: number): number {
  const bits = BigInt.asUintN(64, BigInt(seed));
  return Number((bits >> 32n) ^ (bits & 0xffffffffn));
}

/** Submits a job for each choice of a chat body. Does not throw for a bad prompt: the streams reject instead. */
export function startCompletion(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const adapters = body.lora === undefined ? null : toAdapterUses(body.lora, engine.model, 'lora');
  return submitChoices(engine, { ...toJob(body, rendered, profile, engine.model), adapters }, body.n ?? 1, options);
}
