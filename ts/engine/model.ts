import { ChasquiError } from '../errors.js';
import type { NativeConstraint, NativePrompt, NativeReasoningLimit } from '../native/addon.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import type { AdapterUse } from './adapter-file.js';
import { CALLS, type CallArgs, type Caller, type CallInput, type CallName, type CallResult } from './calls.js';
import { renderDefaults } from './chat-template.js';
import type { CoreJob, EngineCore } from './core.js';
import { decodeAudio } from './decode-audio.js';
import { closeWhenDropped, Engine } from './engine.js';
import { engineClosed, refuseMedia, withCatalogueCode, withReason } from './engine-errors.js';
import type { AbortOptions, EngineState, ModelInfo, Siblings, SubmitOptions, TokenStream } from './engine-types.js';
import {
  type ImageInput,
  type Job,
  kindOf,
  type ReasoningLimit,
  type ReasoningLimits,
  reasoningLimitOf,
  reasoningLimits,
} from './job.js';
import { type LoadHooks, type LoadOptions, splitHooks } from './load-options.js';
import { openLocal } from './local/open-local.js';
import { PreparedPrompts } from './prepared-prompts.js';
import { asksForDrafts } from './to-native-options.js';
import { deliver, JobStream } from './token-stream.js';

/** Shared by the choices of a request; each takes one of the constraints. */
interface Prepared {
  prompt: NativePrompt;
  constraints: NativeConstraint[];
  reasoning: NativeReasoningLimit | null;
}

/** A loaded model and the code that computes it, in this process or in others. */
export class Model extends Engine {
  #info: ModelInfo;
  readonly #core: EngineCore;
  readonly #caller: Caller;
  readonly #streams: Map<number, JobStream>;
  readonly #maxQueue: number;
  /** Running and waiting requests. */
  readonly #maxRequests: number;
  readonly #reasoning: ReasoningLimits;
  readonly #asksForDrafts: boolean;
  readonly #prompts = new PreparedPrompts();
  readonly #families = new WeakMap<Siblings, Promise<Prepared>>();
  #lastJobId = 0;
  #limitedCalls = 0;
  #averageJobMs = 0;
  #closed: Promise<void> | null = null;
  #closedBy: ChasquiError | null = null;
  #end: ChasquiError | null = null;

  /** `caller` runs its calls; default: the core. */
  constructor(
    core: EngineCore,
    streams: Map<number, JobStream>,
    info: ModelInfo,
    options: LoadOptions,
    caller: Caller = core,
  ) {
    super(renderDefaults(options), options);
    this.#core = core;
    this.#caller = caller;
    this.#streams = streams;
    this.#maxQueue = options.maxQueue ?? LOAD_OPTIONS.maxQueue.default;
    this.#maxRequests = info.parallel + this.#maxQueue;
    this.#reasoning = reasoningLimits(options);
    this.#asksForDrafts = asksForDrafts(options);
    this.#info = info;
  }

  get model(): ModelInfo {
    return this.#info;
  }

  get state(): EngineState {
    if (this.#end !== null) return 'failed';
    return this.#closed === null ? 'ready' : 'closed';
  }

  submit(given: Job | Promise<Job>, options: SubmitOptions = {}): TokenStream {
    const stream = new JobStream(options);
    if (given instanceof Promise) {
      given.then(
        (job) => this.run(stream, job, options),
        (error) => stream.fail(withCatalogueCode(error)),
      );
    } else {
      this.run(stream, given, options);
    }
    return stream;
  }

  /** Computes a job for `stream`, which another engine may have tried before. */
  run(stream: JobStream, given: Job, options: SubmitOptions): void {
    if (stream.ended) return;
    const job = { ...given, adapters: given.adapters ?? this.#info.adaptersInUse ?? null };
    this.#lastJobId = (this.#lastJobId + 1) % 2 ** 31;
    const id = this.#lastJobId;
    const isFull = this.#streams.size >= this.#maxRequests;
    this.#streams.set(id, stream);
    stream.attach({
      onEnd: (left, finish) => {
        this.#streams.delete(id);
        if (finish !== undefined) {
          const { promptMs, predictedMs } = finish.timings;
          this.#averageJobMs += (promptMs + predictedMs - this.#averageJobMs) / 8;
        }
        // The engine ignores ids of jobs that were still being prepared.
        if (left && this.#closed === null && this.#end === null) this.#core.cancel(id);
      },
      onControl: (action) => this.#core.control(id, action),
      onBacklog: (paused) => this.#core.pause(id, paused),
    });
    if (this.#end !== null) stream.fail(this.#end);
    else if (this.#closedBy !== null) stream.fail(this.#closedBy);
    else if (isFull) stream.fail(this.#queueFull());
    else {
      this.#submitWhenReady(id, job, options).catch((error) => this.#streams.get(id)?.fail(withCatalogueCode(error)));
    }
  }

  async call<M extends CallName>(method: M, input: CallInput<M>, on: AbortOptions = {}): Promise<CallResult<M>> {
    if (this.#closedBy !== null) throw this.#closedBy;
    const isLimited = CALLS[method].limited === true;
    if (isLimited && this.#limitedCalls >= this.#maxRequests) throw this.#tooManyCalls();
    this.#limitedCalls += isLimited ? 1 : 0;
    try {
      const args = typeof input === 'function' ? input(this.#info) : input;
      const [prompt, images] = args as unknown as CallArgs<'tokenizePrompt'>;
      if (method !== 'tokenizePrompt' || images.length === 0) return await this.#caller.call(method, args, on);
      const tokenize = async () => {
        const decoded = await decodeAudio(this.#caller, images as ImageInput[], this.#info.audioSampleRate, on);
        return this.#caller.call('tokenizePrompt', [prompt, decoded], on);
      };
      return (await this.#prompts.get(prompt, images as ImageInput[], tokenize)) as CallResult<M>;
    } catch (error) {
      throw withReason(withCatalogueCode(error), this.#closedBy);
    } finally {
      this.#limitedCalls -= isLimited ? 1 : 0;
    }
  }

  useAdapters(adapters: readonly AdapterUse[]): void {
    this.#info = { ...this.#info, adaptersInUse: adapters };
  }

  /** The engine is gone, but was not closed: all streams reject with `reason`, now and from now on. */
  end(reason: ChasquiError): void {
    this.#end ??= reason;
    for (const stream of [...this.#streams.values()]) stream.fail(reason);
  }

  close(reason: ChasquiError = engineClosed()): Promise<void> {
    this.#closedBy ??= reason;
    this.#closed ??= this.#close(reason);
    return this.#closed;
  }

  async #close(reason: ChasquiError): Promise<void> {
    const closing = this.#core.close();
    for (const stream of [...this.#streams.values()]) stream.fail(reason);
    await closing;
  }

  async #submitWhenReady(id: number, job: Job, options: SubmitOptions): Promise<void> {
    refuseUnknownTokens(job, this.#info.vocabularySize);
    const { prompt, constraints, reasoning } = await this.#prepare(job, options);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.promptTokens = prompt.tokens.length;
    this.#core.submit(toCoreJob(id, prompt, reasoning, job, this.#draftsFromText(job)), constraints.pop() ?? null);
  }

  /**
   * Whether tokens may be drafted from the text so far. The number of drafts depends on how long steps took, and kernels may
   * round a batch of rows differently from a single row. Unless they are known not to, nothing is drafted if the caller may
   * expect the same completion again: with a seed never, and with greedy sampling only if drafts were asked for.
   */
  #draftsFromText({ sampling, adapters }: Job): boolean {
    if (this.#info.batchInvariant && (adapters ?? []).length === 0) return true;
    const { seed, temperature, topK } = sampling;
    return seed === null && (this.#asksForDrafts || (temperature > 0 && topK !== 1));
  }

  /** Siblings are prepared once. */
  #prepare(job: Job, { signal, siblings = { count: 1 } }: SubmitOptions): Promise<Prepared> {
    const known = this.#families.get(siblings);
    if (known) return known;
    const { grammar } = job;
    const limit = reasoningLimitOf(job, this.#reasoning);
    const prepared = Promise.all([
      this.#tokenizePrompt(job, { signal }),
      limit === null ? null : this.#tokenizeMessage(limit, { signal }),
      grammar === null ? [] : this.call('compileGrammar', [grammar, siblings.count], { signal }),
    ]).then(([prompt, reasoning, constraints]) => ({ prompt, reasoning, constraints }));
    this.#families.set(siblings, prepared);
    // They may be submitted once more.
    prepared.catch(() => this.#families.delete(siblings));
    return prepared;
  }

  async #tokenizeMessage(limit: ReasoningLimit, on: AbortOptions): Promise<NativeReasoningLimit> {
    const { message } = limit;
    const tokens = message === '' ? new Int32Array() : await this.call('tokenize', [message, false, false], on);
    return { ...limit, message: tokens };
  }

  async #tokenizePrompt({ prompt, images }: Job, on: AbortOptions): Promise<NativePrompt> {
    if (images.length > 0) refuseMedia(this.#info, images.map(kindOf));
    if (typeof prompt === 'string') return this.call('tokenizePrompt', [prompt, images], on);
    if (images.length === 0) return { tokens: Int32Array.from(prompt), media: null };
    throw new ChasquiError('invalid_job', 'A prompt of token ids cannot hold images: give it as text.');
  }

  #queueFull(): ChasquiError {
    const { parallel } = this.#info;
    const error = new ChasquiError(
      'queue_full',
      `The server is busy: ${parallel} requests are running and ${this.#maxQueue} are waiting. Try again later.`,
    );
    // A waiting job moves up whenever a running one ends.
    const secondsPerTurn = this.#averageJobMs / 1000 / parallel;
    error.retryAfterSeconds = Math.min(60, Math.max(1, Math.ceil(secondsPerTurn)));
    return error;
  }

  #tooManyCalls(): ChasquiError {
    const message = `${this.#limitedCalls} requests for embeddings are waiting. Try again later.`;
    return Object.assign(new ChasquiError('queue_full', message), { retryAfterSeconds: 1 });
  }
}

/** The native code refuses them too, but cannot tell which field they came from. */
function refuseUnknownTokens({ sampling }: Job, vocabularySize: number): void {
  const unknown = Object.keys(sampling.logitBias).find((token) => Number(token) >= vocabularySize);
  if (unknown === undefined) return;
  const range = `the vocabulary goes from 0 to ${vocabularySize - 1}`;
  throw new ChasquiError('invalid_job', `\`logit_bias\` holds token ${unknown}, but ${range}.`, 'logit_bias');
}

/**
 * Loads a GGUF file and starts its engine.
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_load_failed`, `invalid_options`,
 * `out_of_memory`, `addon_missing`, `backend_unavailable`; or the signal's reason.
 */
export async function loadModel(
  path: string,
  given: LoadOptions & LoadHooks = {},
  givenHooks: LoadHooks = {},
): Promise<Model> {
  const { options, hooks } = splitHooks(given, givenHooks);
  const streams = new Map<number, JobStream>();
  const { core, info } = await openLocal(path, options, hooks, (...events) => deliver(streams, ...events));
  const model = new Model(core, streams, info, options);
  closeWhenDropped(model, () => core.close());
  return model;
}

function toCoreJob(
  id: number,
  { tokens, media }: NativePrompt,
  reasoning: NativeReasoningLimit | null,
  job: Job,
  draftsFromText: boolean,
): CoreJob {
  const { logitBias, ...sampling } = job.sampling;
  const adapters = [...(job.adapters ?? [])].sort((one, other) => one.adapter - other.adapter);
  const seed = sampling.seed ?? Math.floor(Math.random() * 2 ** 32);
  return {
    id,
    prompt: tokens,
    media,
    maxTokens: job.maxTokens ?? -1,
    topLogprobs: job.topLogprobs ?? -1,
    promptLogprobs: job.promptLogprobs ?? -1,
    priority: job.priority,
    cachePrompt: job.cachePrompt,
    cacheSalt: job.cacheSalt,
    ignoreEos: job.ignoreEos,
    draftsFromText,
    stop: job.stop,
    formatStops: job.formatStops,
    preservedTokens: job.preservedTokens,
    format: job.format,
    reasoning,
    adapters: Int32Array.from(adapters, ({ adapter }) => adapter),
    adapterScales: Float32Array.from(adapters, ({ scale }) => scale),
    sampling: {
      ...sampling,
      seed,
      logprobsAfter: job.logprobsAfter,
      logitBiasTokens: Int32Array.from(Object.keys(logitBias), Number),
      logitBiasValues: Float32Array.from(Object.values(logitBias)),
    },
  };
}
