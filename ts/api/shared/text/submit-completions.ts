/** Converts a valid body of a completions request to one running job per choice. */

import { checkTokens } from '../../../engine/check-tokens.js';
import type { AbortOptions, Engine, ModelInfo, TextInput, TokenStream } from '../../../engine/engine.js';
import { type Grammar, grammarOfSchema, type Job } from '../../../engine/job.js';
import { ChasquiError, type ErrorCode, invalidValue, unsupportedParameter } from '../../../errors.js';
import type { Profile } from '../../../profiles/profile.js';
import { MAX_CHOICES } from '../chat/chat-schema.js';
import { toJob } from '../chat/to-job.js';
import { submitChoices } from '../completion/stream-reply.js';
import { SchemaCheck } from '../json-schema/schema-check.js';
import { lengthOfAll, limitRepeats } from './limit-repeats.js';
import { type PromptTokens, promptLogprobsOf, readPromptTokens } from './prompt-tokens.js';
import type { CompletionRequest } from './text-schema.js';
import { toInputs, tokenizeMixed } from './to-inputs.js';
import { spell } from './to-tokens.js';

export interface RunningCompletions {
  /** The choices of the first prompt, then those of the second, and so on. */
  streams: TokenStream[];
  choicesPerPrompt: number;
  /** The echoed prompt of each stream; empty without `echo`. */
  beginnings: string[];
  /** The prompt of each stream, if its log-probabilities are reported. */
  promptTokens: (PromptTokens | null)[];
  /** The job of all streams, except for prompt and seed. */
  job: Job;
}

interface NativeOptions extends Partial<Pick<Job, 'logprobsAfter'>> {
  /** The images of each prompt; default: none. */
  images?: readonly Job['images'][];
  /** Throws the errors of the job that all completions share, except for prompts and seeds. */
  beforeSubmit?(job: Job): void;
}

export async function submitCompletions(
  engine: Engine,
  body: CompletionRequest,
  profile: Profile,
  signal: AbortSignal,
  { logprobsAfter = false, images = [], beforeSubmit }: NativeOptions = {},
): Promise<RunningCompletions> {
  refuseUnsupported(body);
  const n = body.n ?? 1;
  const asInputs = await tokenizeMixed(engine, body.prompt, 'prompt', { signal });
  const { inputs, nameOf } = toInputs(asInputs, 'prompt', MAX_CHOICES);
  if (inputs.length * n > MAX_CHOICES) {
    const asked = `${inputs.length} prompts with ${n} choices each`;
    throw invalidValue(`At most ${MAX_CHOICES} choices in total, but got ${asked}.`, 'n');
  }
  const prompts = await Promise.all(
    inputs.map((input, index) => toPrompt(engine, input, body.suffix, nameOf(index), signal)),
  );
  const echoes = body.echo
    ? await Promise.all(inputs.map((input, index) => toEcho(engine, input, nameOf(index), signal)))
    : inputs.map(() => '');
  const beginnings = echoes.flatMap((echo) => Array<string>(n).fill(echo));
  limitRepeats({
    completions: beginnings.length,
    length: lengthOfAll(beginnings),
    what: 'its `prompt`',
    remedy: 'without `echo`',
    param: n > 1 ? 'n' : 'prompt',
  });
  const promptLogprobs = promptLogprobsOf(body);
  const counts = { alternatives: promptLogprobs ?? 0, n };
  const tokens = promptLogprobs === null ? null : await readPromptTokens(engine, prompts, counts, { signal });
  const job = { ...toCommonJob(body, profile, engine.model), logprobsAfter, promptLogprobs };
  beforeSubmit?.(job);
  return {
    streams: (tokens?.map(({ ids }) => ids) ?? prompts).flatMap((prompt, index) =>
      submitChoices(engine, { ...job, prompt, images: images[index] ?? [] }, n, { signal, whole: !body.stream }),
    ),
    choicesPerPrompt: n,
    beginnings,
    promptTokens: beginnings.map((_, index) => tokens?.[Math.floor(index / n)] ?? null),
    job,
  };
}

export function firstOfEach(streams: readonly TokenStream[], choicesPerPrompt: number): TokenStream[] {
  return streams.filter((_, index) => index % choicesPerPrompt === 0);
}

/** Adds the field to errors about the prompt, because the engine does not know requests. */
const ABOUT_PROMPT: readonly ErrorCode[] = ['context_length_exceeded', 'invalid_job', 'prompt_refused'];

/** Names the field of an error. `json_schema` is that of the request. */
export function aboutPrompt(thrown: unknown, { json_schema }: Pick<CompletionRequest, 'json_schema'> = {}): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.param !== null) return thrown;
  if (thrown.code === 'invalid_grammar' && json_schema) return thrown.withMessage(thrown.message, 'json_schema');
  return ABOUT_PROMPT.includes(thrown.code) ? thrown.withMessage(thrown.message, 'prompt') : thrown;
}

function refuseUnsupported(body: CompletionRequest): void {
  const n = body.n ?? 1;
  if (body.grammar !== undefined && body.json_schema !== undefined) {
    throw unsupportedParameter('`grammar` and `json_schema` cannot be used together.', 'grammar');
  }
  if (body.best_of !== undefined && body.best_of < n) {
    throw invalidValue(`\`best_of\` must be at least \`n\`, which is ${n}.`, 'best_of');
  }
  if (body.best_of !== undefined && body.best_of > n) {
    throw unsupportedParameter(
      'This server does not support `best_of` above `n`. Request more choices with `n` and choose among them.',
      'best_of',
    );
  }
}

async function toPrompt(
  engine: Engine,
  input: TextInput,
  suffix: string | undefined,
  name: string,
  signal: AbortSignal,
): Promise<Job['prompt']> {
  if (typeof input !== 'string') checkTokens(input, name, engine.model.vocabularySize);
  if (suffix === undefined) return input;
  if (!engine.model.infills) {
    throw new ChasquiError(
      'model_not_capable',
      `The model \`${engine.model.id}\` does not support infill. Omit \`suffix\`.`,
      'suffix',
    );
  }
  const prefix = typeof input === 'string' ? input : await spell(engine, input, name, { signal });
  return Array.from(await engine.tokenizeInfill(prefix, suffix, { signal }));
}

async function toEcho(engine: Engine, input: TextInput, name: string, signal: AbortSignal): Promise<string> {
  return typeof input === 'string' ? input : spell(engine, input, name, { signal });
}

/** Sampling, limits and stop strings are those of a chat. Each input has its own prompt. */
function toCommonJob(body: CompletionRequest, profile: Profile, model: ModelInfo): Job {
  const {
    prompt: _prompt,
    suffix: _suffix,
    echo: _echo,
    best_of: _bestOf,
    prompt_logprobs: _promptLogprobs,
    max_tokens: maxTokens = -1,
    logprobs,
    json_schema: schema,
    ...shared
  } = body;
  // One token is computed, because the engine reads no prompt without one. It is not shown.
  const limit = maxTokens === 0 ? 1 : maxTokens;
  const chat = {
    ...shared,
    max_tokens: limit,
    messages: [],
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
  };
  return toJob(
    chat,
    {
      prompt: '',
      images: [],
      additionalStops: [],
      preservedTokens: [],
      grammar: toGrammar(schema),
      format: null,
      reasoning: null,
      unenforcedKeywords: [],
    },
    profile,
    model,
  );
}

function toGrammar(schema: object | undefined): Grammar | null {
  if (schema === undefined) return null;
  new SchemaCheck().check(schema, 'json_schema');
  return grammarOfSchema(schema);
}

/** The parts of `json_schema` that no grammar enforces. */
export function unenforcedOfSchema(engine: Engine, schema: object, on: AbortOptions): Promise<string[]> {
  new SchemaCheck().check(schema, 'json_schema');
  return engine.unenforcedParts(schema, 'json_schema', on);
}
