/** Converts a valid body and a rendered prompt to a job. Defaults come from the mode's profile. */
import type {
  Engine,
  ModelInfo,
  ReasoningTags,
  RenderedPrompt,
  SubmitOptions,
  TokenStream,
} from '../../../engine/engine.js';
import { completeJob, type GenerateOptions, type Grammar, grammarOf, type Job } from '../../../engine/job.js';
import {
  ANY_SEED,
  MAX_MAGNITUDE,
  SAMPLER_LETTERS,
  SAMPLERS,
  SAMPLING_NUMBERS,
  type SamplerName,
  type SamplingField,
  type SamplingNumber,
  type SamplingRow,
  type SamplingSettings,
  SETTING_OF,
} from '../../../options/sampling-table.js';
import type { Profile } from '../../../profiles/profile.js';
import { submitChoices } from '../completion/stream-reply.js';
import { afterReasoning } from '../tools/grammars/after-reasoning.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { toAdapterUses } from './to-adapters.js';

export function toJob(
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  profile: Profile,
  model: Pick<ModelInfo, 'sampling' | 'adapters'> = {},
): Job {
  const options: GenerateOptions = {
    prompt: rendered.prompt,
    images: rendered.images,
    adapters: body.lora === undefined ? null : toAdapterUses(body.lora, model, 'lora'),
    stop: [body.stop ?? []].flat().filter((text) => text !== ''),
    formatStops: rendered.additionalStops,
    maxTokens: toLimit([body.max_completion_tokens, body.max_tokens, body.n_predict, profile.maxTokens]),
    grammar: body.grammar === undefined ? rendered.grammar : ownGrammar(body.grammar, body, rendered),
    preservedTokens: rendered.preservedTokens,
    format: rendered.format,
    reasoning: toReasoningTags(body, rendered),
    reasoningBudget: toLimit([body.reasoning_budget_tokens, body.thinking_budget_tokens]),
    reasoningControl: body.reasoning_control ?? false,
    ...(body.reasoning_budget_message !== undefined && { reasoningMessage: body.reasoning_budget_message }),
    topLogprobs: body.logprobs ? (body.top_logprobs ?? 0) : null,
    promptLogprobs: body.prompt_logprobs ?? null,
    ...(body.ignore_eos !== undefined && { ignoreEos: body.ignore_eos }),
    ...(body.cache_prompt !== undefined && { cachePrompt: body.cache_prompt }),
    ...(body.cache_salt !== undefined && { cacheSalt: body.cache_salt }),
    ...(body.priority !== undefined && { priority: Math.min(body.priority, profile.maxPriority) }),
    ...toSampling(body),
  };
  return completeJob(options, { ...profile.sampling, ...model.sampling });
}

function ownGrammar(
  grammar: string,
  { grammarIsOfContent: isOfContent }: ChatCompletionRequest,
  { reasoning }: RenderedPrompt,
): Grammar {
  const follows = isOfContent && reasoning !== null && !reasoning.isDetected;
  return grammarOf(follows ? afterReasoning(grammar, reasoning) : grammar);
}

/** Clients of other servers send this for an unset limit or seed. */
const UNSET = -1;

/** The engine counts tokens in 32 bits, and no context is longer. */
const MAX_TOKENS = 2 ** 31 - 1;

const SETTINGS = Object.entries(SETTING_OF) as [SamplingField, SamplingNumber][];

function toSampling(body: ChatCompletionRequest): Partial<SamplingSettings> {
  const sampling: Partial<SamplingSettings> = {};
  for (const [field, name] of SETTINGS) {
    const value = body[field];
    if (value === undefined) continue;
    const { below, min, max }: SamplingRow = SAMPLING_NUMBERS[name];
    const isBelow = below !== undefined && value < below[0];
    sampling[name] = isBelow ? below[1] : Math.min(Math.max(value, min), max);
  }
  if (body.logit_bias !== undefined) sampling.logitBias = toLogitBias(body.logit_bias);
  if (body.dry_sequence_breakers !== undefined) sampling.drySequenceBreakers = body.dry_sequence_breakers;
  if (body.samplers !== undefined) sampling.samplers = toSamplers(body.samplers);
  if (body.seed !== undefined && body.seed !== UNSET && body.seed !== ANY_SEED) sampling.seed = foldSeed(body.seed);
  return sampling;
}

/** Accepts names, with `typical_p` for `typ_p` as in the request field, or a string of letters. */
function toSamplers(samplers: Exclude<ChatCompletionRequest['samplers'], undefined>): readonly SamplerName[] {
  if (typeof samplers === 'string') return [...samplers].flatMap((letter) => SAMPLER_OF_LETTER.get(letter) ?? []);
  return samplers.map((name) => (name === 'typical_p' ? 'typ_p' : name));
}

const SAMPLER_OF_LETTER = new Map<string, SamplerName>(SAMPLERS.map((name) => [SAMPLER_LETTERS[name], name]));

function toLogitBias(biases: Readonly<Record<string, number>>): Record<number, number> {
  const clamp = (bias: number) => Math.min(Math.max(bias, -MAX_MAGNITUDE), MAX_MAGNITUDE);
  return Object.fromEntries(Object.entries(biases).map(([token, bias]) => [token, clamp(bias)]));
}

/** Returns the first number of tokens that is set, or `null`: the server's options apply. */
export function toLimit(limits: readonly (number | undefined)[]): number | null {
  const limit = limits.find((each) => each !== undefined && each !== UNSET);
  return limit === undefined ? null : Math.min(limit, MAX_TOKENS);
}

/**
 * The tags of the reasoning, or `null` if they are unknown. A grammar in the request that does not mention the end of
 * reasoning cannot contain it: the tag would be within the constrained text.
 */
export function toReasoningTags(
  { grammar, grammarIsOfContent }: Pick<ChatCompletionRequest, 'grammar' | 'grammarIsOfContent'>,
  { reasoning }: Pick<RenderedPrompt, 'reasoning'>,
): ReasoningTags | null {
  const isBeside = grammar === undefined || (grammarIsOfContent && !reasoning?.isDetected);
  const hasPlace = isBeside || reasoning?.ends.some((end) => grammar.includes(end));
  return hasPlace ? reasoning : null;
}

/** Both halves of a 64-bit seed count. A 32-bit seed is unchanged. */
function foldSeed(seed: number): number {
  const bits = BigInt.asUintN(64, BigInt(seed));
  return Number((bits >> 32n) ^ (bits & 0xffffffffn));
}

/** Submits a job for each choice of a chat body. An invalid prompt does not throw: the streams reject. */
export function startCompletion(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const { format, ...job } = toJob(body, rendered, profile, engine.model);
  // As in llama-server, a whole reply includes the message that it continues, and a stream does not.
  const echo = body.echo ?? options.whole ?? false;
  const parsed = format && { ...format, continues: format.continues && !echo };
  return submitChoices(engine, { ...job, format: parsed }, body.n ?? 1, options);
}
