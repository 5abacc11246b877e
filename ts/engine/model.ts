import { ChasquiError } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import type { NativeConstraint, NativePrompt, NativeReasoningLimit } from '../native/addon.js';
import type { AdapterUse } from './adapter-file.js';
import type { CoreJob, EngineCore } from './core.js';
import { Embedder } from './embedder.js';
import type {
  ChatMessage,
  Embeddings,
  Engine,
  EngineState,
  EngineStats,
  ModelInfo,
  OnBehalf,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  Siblings,
  SubmitOptions,
  TextInput,
  TokenStream,
} from './engine.js';
import { engineClosed, withReason } from './engine-closed.js';
import { deliver } from './events.js';
import { type GenerateRequest, generate } from './generate.js';
import type { ImageInput, Job } from './job.js';
import { LOAD_OPTIONS } from './load-option-table.js';
import { type LoadHooks, type LoadOptions, splitHooks } from './load-options.js';
import { openLocal } from './local/open-local.js';
import { withCatalogueCode } from './native-failure.js';
import { asksForDrafts } from './open-request.js';
import { Preparation } from './preparation.js';
import { PreparedPrompts } from './prepared-prompts.js';
import { type ReasoningLimits, reasoningLimitOf, reasoningLimits } from './reasoning-option-table.js';
import { toRenderRequest } from './render-request.js';
import { takesTextOnly } from './takes-text-only.js';
import { templateVariables } from './template-option-table.js';
import { JobStream } from './token-stream.js';

/** What jobs that differ in their seeds only have in common: prompt and limit of reasoning, and a grammar for each. */
interface Prepared {
  prompt: NativePrompt;
  constraints: NativeConstraint[];
  reasoning: NativeReasoningLimit | null;
}

/** A loaded model with an engine of its own, wherever that computes. */
export class Model implements Engine {
  #info: ModelInfo;
  readonly #core: EngineCore;
  readonly #streams: Map<number, JobStream>;
  readonly #maxQueue: number;
  readonly #imageHosts: ImageHosts;
  readonly #templateVariables: Readonly<Record<string, unknown>>;
  readonly #reasoning: ReasoningLimits;
  readonly #asksForDrafts: boolean;
  readonly #embedder: Embedder;
  readonly #preparation: Preparation;
  readonly #prepared: PreparedPrompts;
  readonly #families = new WeakMap<Siblings, Promise<Prepared>>();
  #lastJobId = 0;
  #averageJobMs = 0;
  #closed: Promise<void> | null = null;
  /** Why it was closed. */
  #closedBy: ChasquiError | null = null;
  #end: ChasquiError | null = null;

  /** Made by `loadModel`. */
  constructor(core: EngineCore, streams: Map<number, JobStream>, info: ModelInfo, options: LoadOptions) {
    this.#core = core;
    this.#streams = streams;
    this.#maxQueue = options.maxQueue ?? LOAD_OPTIONS.maxQueue.default;
    this.#templateVariables = templateVariables(options);
    this.#reasoning = reasoningLimits(options);
    this.#asksForDrafts = asksForDrafts(options);
    this.#imageHosts = options.imageHosts ?? LOAD_OPTIONS.imageHosts.default;
    this.#info = info;
    this.#preparation = new Preparation(core);
    this.#embedder = new Embedder(core, this.#preparation, info, info.parallel + this.#maxQueue);
    this.#prepared = new PreparedPrompts(core, this.#preparation);
  }

  get model(): ModelInfo {
    return this.#info;
  }

  /** See `generate`. */
  generate(request: GenerateRequest, options: OnBehalf = {}): TokenStream {
    return generate(this, request, options, this.#imageHosts);
  }

  submit(given: Job, options: SubmitOptions = {}): TokenStream {
    const { signal } = options;
    const job = { ...given, adapters: given.adapters ?? this.#info.adaptersInUse ?? null };
    const id = this.#nextJobId();
    const onAbort = () => stream.abort(signal?.reason);
    const stream = new JobStream({
      onEnd: (left) => {
        signal?.removeEventListener('abort', onAbort);
        this.#streams.delete(id);
        // Ids that the engine never saw, because the prompt was still being prepared, mean nothing to it.
        if (left && this.#closed === null && this.#end === null) this.#core.cancel(id);
      },
      onFinish: ({ timings }) => {
        const took = timings.promptMs + timings.predictedMs;
        this.#averageJobMs += (took - this.#averageJobMs) / 8;
      },
      onBacklog: (paused) => this.#core.pause(id, paused),
    });
    const isFull = this.#streams.size >= this.model.parallel + this.#maxQueue;
    this.#streams.set(id, stream);
    if (this.#end !== null) stream.fail(this.#end);
    else if (this.#closedBy !== null) stream.fail(this.#closedBy);
    else if (isFull) stream.fail(this.#queueFull());
    else if (signal?.aborted) stream.abort(signal.reason);
    else {
      signal?.addEventListener('abort', onAbort);
      this.#submitWhenReady(id, stream, job, options).catch((error) => stream.fail(withCatalogueCode(error)));
    }
    return stream;
  }

  async render(
    messages: readonly ChatMessage[],
    options: RenderOptions = {},
    { signal }: OnBehalf = {},
  ): Promise<RenderedPrompt> {
    const images: ImageInput[] = [];
    const templateKwargs = { ...this.#templateVariables, ...options.templateKwargs };
    const request = toRenderRequest(messages, { ...options, templateKwargs }, this.model.imageMarker ?? '', images);
    if (images.length > 0 && !this.model.vision) throw takesTextOnly(this.model.id);
    this.#prepared.share(Object.freeze(images));
    const rendering = this.#preparation.run(signal, (owner) => this.#core.render(request, owner));
    return { ...(await this.#told(rendering)), images };
  }

  async tokenize(
    text: string,
    {
      addSpecial = false,
      parseSpecial = false,
      signal,
    }: { addSpecial?: boolean; parseSpecial?: boolean } & OnBehalf = {},
  ): Promise<Int32Array> {
    const start = (owner: number) => this.#core.tokenize(text, addSpecial, parseSpecial, owner);
    return this.#told(this.#preparation.run(signal, start));
  }

  async countTokens(
    { prompt, images }: Pick<RenderedPrompt, 'prompt' | 'images'>,
    { signal }: OnBehalf = {},
  ): Promise<number> {
    if (images.length > 0) return (await this.#told(this.#prepared.prepare(prompt, images, signal))).tokens.length;
    const tokens = await this.tokenize(prompt, { addSpecial: true, parseSpecial: true, ...(signal && { signal }) });
    return tokens.length;
  }

  async tokenizeInfill(prefix: string, suffix: string, { signal }: OnBehalf = {}): Promise<Int32Array> {
    const start = (owner: number) => this.#core.tokenizeInfill(prefix, suffix, owner);
    return this.#told(this.#preparation.run(signal, start));
  }

  async pieces(tokens: readonly number[], { signal }: OnBehalf = {}): Promise<Uint8Array[]> {
    const start = (owner: number) => this.#core.pieces(Int32Array.from(tokens), owner);
    const { bytes, ends } = await this.#told(this.#preparation.run(signal, start));
    return Array.from(ends, (end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  }

  async embed(inputs: readonly TextInput[], { signal }: OnBehalf = {}): Promise<Embeddings> {
    return this.#told(this.#embedder.embed(inputs, signal));
  }

  async rank(query: string, documents: readonly string[], { signal }: OnBehalf = {}): Promise<Ranking> {
    return this.#told(this.#embedder.rank(query, documents, signal));
  }

  async stats(): Promise<EngineStats> {
    if (this.#closedBy !== null) throw this.#closedBy;
    return this.#core.stats();
  }

  useAdapters(adapters: readonly AdapterUse[]): void {
    this.#info = { ...this.#info, adaptersInUse: adapters };
  }

  get state(): EngineState {
    if (this.#end !== null) return 'failed';
    return this.#closed === null ? 'ready' : 'closed';
  }

  /** The engine is gone, and nobody closed it: whatever was asked of it rejects with `reason`, now and from now on. */
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

  async #submitWhenReady(id: number, stream: JobStream, job: Job, options: SubmitOptions): Promise<void> {
    refuseUnknownTokens(job, this.model.vocabularySize);
    const { prompt, constraints, reasoning } = await this.#prepare(job, options);
    stream.prepared(prompt.tokens.length);
    if (stream.ended) return;
    this.#core.submit(toCoreJob(id, prompt, reasoning, job, this.#draftsFromText(job)), constraints.pop() ?? null);
  }

  /**
   * Whether tokens may be drafted from the text so far. How many are depends on how long steps took, and kernels may round
   * rows that are computed together otherwise than one alone. Where they are not known to round alike it is not done if the
   * same completion is expected again: with a seed never, and where nothing is drawn only if drafts were asked for.
   */
  #draftsFromText({ sampling, adapters }: Job): boolean {
    if (this.#info.roundsAlike && (adapters ?? []).length === 0) return true;
    const { seed, temperature, topK } = sampling;
    return seed === null && (this.#asksForDrafts || (temperature > 0 && topK !== 1));
  }

  /** The same, but errors are those of the catalogue, and say why the engine was closed. */
  async #told<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw withReason(withCatalogueCode(error), this.#closedBy);
    }
  }

  #prepare(job: Job, { signal, siblings }: SubmitOptions): Promise<Prepared> {
    if (!siblings) return this.#prepareFor(1, job, signal);
    const known = this.#families.get(siblings);
    if (known) return known;
    const prepared = this.#prepareFor(siblings.count, job, signal);
    this.#families.set(siblings, prepared);
    // They may be submitted once more.
    prepared.catch(() => this.#families.delete(siblings));
    return prepared;
  }

  async #prepareFor(count: number, job: Job, signal: AbortSignal | undefined): Promise<Prepared> {
    const { grammar } = job;
    const [prompt, reasoning, constraints] = await Promise.all([
      this.#tokenizePrompt(job, signal),
      this.#limitReasoning(job, signal),
      grammar === null
        ? []
        : this.#preparation.run(signal, (owner) => this.#core.compileGrammar(grammar, count, owner)),
    ]);
    return { prompt, reasoning, constraints };
  }

  async #limitReasoning(job: Job, signal: AbortSignal | undefined): Promise<NativeReasoningLimit | null> {
    const limit = reasoningLimitOf(job, this.#reasoning);
    if (limit === null) return null;
    const start = (owner: number) => this.#core.tokenize(limit.message, false, false, owner);
    const message = limit.message === '' ? new Int32Array() : await this.#preparation.run(signal, start);
    return { ...limit, message };
  }

  async #tokenizePrompt({ prompt, images }: Job, signal: AbortSignal | undefined): Promise<NativePrompt> {
    if (images.length > 0 && !this.model.vision) throw takesTextOnly(this.model.id);
    if (typeof prompt === 'string') return this.#prepared.prepare(prompt, images, signal);
    if (images.length === 0) return { tokens: Int32Array.from(prompt), media: null };
    throw new ChasquiError('invalid_job', 'A prompt of token ids cannot hold images: give it as text.');
  }

  #queueFull(): ChasquiError {
    const error = new ChasquiError(
      'queue_full',
      `The server is busy: ${this.model.parallel} requests are running and ${this.#maxQueue} are waiting. Try again later.`,
    );
    // A waiting job moves up whenever a running one ends.
    const secondsPerTurn = this.#averageJobMs / 1000 / this.model.parallel;
    error.retryAfterSeconds = Math.min(60, Math.max(1, Math.ceil(secondsPerTurn)));
    return error;
  }

  #nextJobId(): number {
    this.#lastJobId = (this.#lastJobId + 1) % 2 ** 31;
    return this.#lastJobId;
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
  return new Model(core, streams, info, options);
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
    priority: job.priority,
    cachePrompt: job.cachePrompt,
    ignoreEos: job.ignoreEos,
    draftsFromText,
    stop: job.stop,
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
