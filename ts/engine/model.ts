import { basename, resolve } from 'node:path';
import { ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import type { NativeConstraint, NativeEngine, NativeFailure, NativeJob, NativePrompt } from '../native/addon.js';
import { decideModules } from '../native/backends.js';
import { loadAddon } from '../native/load-addon.js';
import { Embedder } from './embedder.js';
import type {
  ChatMessage,
  Embeddings,
  Engine,
  EngineStats,
  ModelInfo,
  OnBehalf,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  ReplyFormat,
  ReplyParser,
  Siblings,
  TextInput,
  TokenStream,
} from './engine.js';
import { deliver } from './events.js';
import { completeJob, type GenerateOptions, type ImageInput, type Job } from './job.js';
import { type GenerateMessage, hasImages, loadChatImages } from './load-chat-images.js';
import type { LoadOptions } from './load-options.js';
import { type ChosenOffload, chooseOffload } from './offload.js';
import { toOpenRequest } from './open-request.js';
import { Preparation } from './preparation.js';
import { PreparedPrompts } from './prepared-prompts.js';
import { toRenderRequest } from './render-request.js';
import { JobStream } from './token-stream.js';

/** A conversation or a prompt, and how to go on from it. */
export type GenerateRequest =
  | GenerateOptions
  | (Omit<GenerateOptions, 'prompt' | 'images'> & { messages: readonly GenerateMessage[] });

/** What jobs that differ in their seeds only have in common: their prompt, and a grammar for each. */
interface Prepared {
  prompt: NativePrompt;
  constraints: NativeConstraint[];
}

/** A loaded model with an engine thread of its own, in this process. */
export class Model implements Engine {
  readonly model: ModelInfo;
  readonly #native: NativeEngine;
  readonly #streams: Map<number, JobStream>;
  readonly #maxQueue: number;
  readonly #imageHosts: ImageHosts;
  readonly #embedder: Embedder;
  readonly #preparation: Preparation;
  readonly #prepared: PreparedPrompts;
  readonly #families = new WeakMap<Siblings, Promise<Prepared>>();
  #lastJobId = 0;
  #averageJobMs = 0;
  #closed: Promise<void> | null = null;

  /** Made by `loadModel`. */
  constructor(native: NativeEngine, streams: Map<number, JobStream>, info: ModelInfo, options: LoadOptions) {
    this.#native = native;
    this.#streams = streams;
    this.#maxQueue = options.maxQueue ?? 256;
    this.#imageHosts = options.imageHosts ?? 'public';
    this.model = info;
    this.#preparation = new Preparation(native);
    this.#embedder = new Embedder(native, this.#preparation, info, info.parallel + this.#maxQueue);
    this.#prepared = new PreparedPrompts(native, this.#preparation);
  }

  /**
   * Generates from `prompt` (as it is) or from `messages` (through the model's chat template).
   * The stream rejects with a `ChasquiError`, or with the signal's reason.
   */
  generate(request: GenerateRequest, options: OnBehalf = {}): TokenStream {
    if ('prompt' in request) return this.submit(completeJob(request), options);
    const { messages, ...rest } = request;
    return this.#start(options, async () => {
      if (hasImages(messages) && !this.model.vision) throw takesTextOnly(this.model.id);
      const { signal } = options;
      const loaded = await loadChatImages(messages, { hosts: this.#imageHosts, ...(signal && { signal }) });
      const rendered = await this.render(loaded, {}, options);
      const stop = [...(rest.stop ?? []), ...rendered.additionalStops];
      return completeJob({ ...rest, prompt: rendered.prompt, images: rendered.images, stop });
    });
  }

  submit(job: Job, options: OnBehalf & { siblings?: Siblings } = {}): TokenStream {
    return this.#start(options, async () => job);
  }

  async render(
    messages: readonly ChatMessage[],
    options: RenderOptions = {},
    { signal }: OnBehalf = {},
  ): Promise<RenderedPrompt> {
    const images: ImageInput[] = [];
    const request = toRenderRequest(messages, options, this.model.imageMarker ?? '', images);
    if (images.length > 0 && !this.model.vision) throw takesTextOnly(this.model.id);
    this.#prepared.share(Object.freeze(images));
    const rendering = this.#preparation.run(signal, (owner) => this.#native.render(request, owner));
    return { ...(await catalogued(rendering)), images };
  }

  openParser(format: ReplyFormat): ReplyParser {
    return loadAddon().addon.openParser(format);
  }

  async tokenize(
    text: string,
    {
      addSpecial = false,
      parseSpecial = false,
      signal,
    }: { addSpecial?: boolean; parseSpecial?: boolean } & OnBehalf = {},
  ): Promise<Int32Array> {
    const start = (owner: number) => this.#native.tokenize(text, addSpecial, parseSpecial, owner);
    return catalogued(this.#preparation.run(signal, start));
  }

  async countTokens(
    { prompt, images }: Pick<RenderedPrompt, 'prompt' | 'images'>,
    { signal }: OnBehalf = {},
  ): Promise<number> {
    if (images.length > 0) return (await catalogued(this.#prepared.prepare(prompt, images, signal))).tokens.length;
    const tokens = await this.tokenize(prompt, { addSpecial: true, parseSpecial: true, ...(signal && { signal }) });
    return tokens.length;
  }

  async tokenizeInfill(prefix: string, suffix: string, { signal }: OnBehalf = {}): Promise<Int32Array> {
    const start = (owner: number) => this.#native.tokenizeInfill(prefix, suffix, owner);
    return catalogued(this.#preparation.run(signal, start));
  }

  async pieces(tokens: readonly number[], { signal }: OnBehalf = {}): Promise<Uint8Array[]> {
    const start = (owner: number) => this.#native.pieces(Int32Array.from(tokens), owner);
    const { bytes, ends } = await catalogued(this.#preparation.run(signal, start));
    return Array.from(ends, (end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  }

  async embed(inputs: readonly TextInput[], { signal }: OnBehalf = {}): Promise<Embeddings> {
    return catalogued(this.#embedder.embed(inputs, signal));
  }

  async rank(query: string, documents: readonly string[], { signal }: OnBehalf = {}): Promise<Ranking> {
    return catalogued(this.#embedder.rank(query, documents, signal));
  }

  async stats(): Promise<EngineStats> {
    if (this.#closed !== null) throw engineClosed();
    return this.#native.stats();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const closing = this.#native.close();
    for (const stream of [...this.#streams.values()]) stream.fail(engineClosed());
    await closing;
  }

  #start(options: OnBehalf & { siblings?: Siblings }, makeJob: () => Promise<Job>): TokenStream {
    const { signal } = options;
    const id = this.#nextJobId();
    const onAbort = () => stream.abort(signal?.reason);
    const stream = new JobStream({
      onEnd: (left) => {
        signal?.removeEventListener('abort', onAbort);
        this.#streams.delete(id);
        // Ids that the engine never saw, because the prompt was still being prepared, mean nothing to it.
        if (left && this.#closed === null) this.#native.cancel(id);
      },
      onFinish: ({ timings }) => {
        const took = timings.promptMs + timings.predictedMs;
        this.#averageJobMs += (took - this.#averageJobMs) / 8;
      },
      onBacklog: (paused) => this.#native.pause(id, paused),
    });
    const isFull = this.#streams.size >= this.model.parallel + this.#maxQueue;
    this.#streams.set(id, stream);
    if (this.#closed !== null) stream.fail(engineClosed());
    else if (isFull) stream.fail(this.#queueFull());
    else if (signal?.aborted) stream.abort(signal.reason);
    else {
      signal?.addEventListener('abort', onAbort);
      this.#submitWhenReady(id, stream, makeJob, options).catch((error) => stream.fail(withCatalogueCode(error)));
    }
    return stream;
  }

  async #submitWhenReady(
    id: number,
    stream: JobStream,
    makeJob: () => Promise<Job>,
    options: OnBehalf & { siblings?: Siblings },
  ): Promise<void> {
    const job = await makeJob();
    if (stream.ended) return;
    refuseUnknownTokens(job, this.model.vocabularySize);
    const { prompt, constraints } = await this.#prepare(job, options);
    if (!stream.ended) this.#native.submit(toNative(id, prompt, job), constraints.pop() ?? null);
  }

  #prepare(job: Job, { signal, siblings }: OnBehalf & { siblings?: Siblings }): Promise<Prepared> {
    if (!siblings) return this.#prepareFor(1, job, signal);
    const known = this.#families.get(siblings);
    const prepared = known ?? this.#prepareFor(siblings.count, job, signal);
    if (!known) this.#families.set(siblings, prepared);
    return prepared;
  }

  async #prepareFor(count: number, job: Job, signal: AbortSignal | undefined): Promise<Prepared> {
    const { grammar } = job;
    const [prompt, constraints] = await Promise.all([
      this.#tokenizePrompt(job, signal),
      grammar === null
        ? []
        : this.#preparation.run(signal, (owner) => this.#native.compileGrammar(grammar, count, owner)),
    ]);
    return { prompt, constraints };
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
export async function loadModel(path: string, options: LoadOptions = {}): Promise<Model> {
  options.signal?.throwIfAborted();
  const absolutePath = resolve(path);
  const asked = toOpenRequest(absolutePath, options);
  const { addon } = loadAddon();
  const request = { ...asked, modules: await decideModules(options.backend) };
  options.signal?.throwIfAborted();
  const streams = new Map<number, JobStream>();
  const chosen = await chooseOffload(request, options, options.signal);
  const opening = addon.open(
    { ...request, options: { ...request.options, offload: chosen.offload } },
    (records, count, text, extras) => deliver(streams, records, count, text, extras),
    options.onProgress,
  );
  const onAbort = () => opening.abort();
  options.signal?.addEventListener('abort', onAbort);
  try {
    const native = await catalogued(opening.engine);
    return new Model(native, streams, describe(native, absolutePath, options, chosen), options);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
  }
}

function describe(native: NativeEngine, path: string, options: LoadOptions, { unfitted }: ChosenOffload): ModelInfo {
  const info = native.info();
  return {
    ...info,
    id: options.alias ?? basename(path).replace(/\.gguf$/i, ''),
    path,
    created: Math.floor(Date.now() / 1000),
    inputModalities: info.vision ? ['text', 'image'] : ['text'],
    ...(unfitted !== undefined && { unfitted }),
  };
}

function toNative(id: number, { tokens, media }: NativePrompt, job: Job): NativeJob {
  const { logitBias, ...sampling } = job.sampling;
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
    stop: job.stop,
    preservedTokens: job.preservedTokens,
    sampling: {
      ...sampling,
      seed,
      logitBiasTokens: Int32Array.from(Object.keys(logitBias), Number),
      logitBiasValues: Float32Array.from(Object.values(logitBias)),
    },
  };
}

function takesTextOnly(model: string): ChasquiError {
  return new ChasquiError(
    'image_not_supported',
    `The model \`${model}\` takes text only; it was loaded without a vision projector (\`mmproj\`).`,
  );
}

function engineClosed(): ChasquiError {
  return new ChasquiError('engine_closed', 'The engine was closed.');
}

async function catalogued<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw withCatalogueCode(error);
  }
}

/** Native errors carry a code of the catalogue; here they become its class. */
function withCatalogueCode(error: unknown): unknown {
  const { code, imageIndex } = error as Partial<NativeFailure>;
  if (error instanceof ChasquiError || code === undefined || !(code in ERRORS)) return error;
  const catalogued = new ChasquiError(code as ErrorCode, (error as Error).message, null, { cause: error });
  catalogued.imageIndex = imageIndex;
  return catalogued;
}
