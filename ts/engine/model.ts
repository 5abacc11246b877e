import { basename, resolve } from 'node:path';
import { ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import type { NativeEngine, NativeFailure, NativeJob, NativePrompt } from '../native/addon.js';
import { decideModules } from '../native/backends.js';
import { loadAddon } from '../native/load-addon.js';
import type { Backend } from '../native/module-files.js';
import { Embedder } from './embedder.js';
import type {
  ChatMessage,
  Embeddings,
  Engine,
  EngineStats,
  ModelInfo,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  ReplyFormat,
  ReplyParser,
  TextInput,
  TokenStream,
} from './engine.js';
import { deliver } from './events.js';
import { completeJob, type GenerateOptions, type ImageInput, type Job } from './job.js';
import { type GenerateMessage, hasImages, loadChatImages } from './load-chat-images.js';
import { type ChosenOffload, chooseOffload, type OffloadOptions } from './offload.js';
import { toOpenRequest } from './open-request.js';
import { PreparedPrompts } from './prepared-prompts.js';
import { toRenderRequest } from './render-request.js';
import { JobStream } from './token-stream.js';

export interface LoadOptions extends OffloadOptions {
  /** The name requests use; default: the file's name without `.gguf`. */
  alias?: string;
  /** Tokens that one conversation can hold, prompt plus answer; default: what the model was trained for, at most 4096. */
  contextSize?: number;
  /** How many sequences decode at the same time; each reserves `contextSize` tokens of memory. Default 4. */
  parallel?: number;
  /**
   * What to compute with: `cpu`, or a GPU's `cuda`, `metal` or `vulkan`; decided by the first model of a process.
   * Default: the environment's CHASQUI_BACKEND, or else `auto`, the best that passes a trial.
   */
  backend?: Backend | 'auto';
  /** Compute threads; default: one per physical core, or fewer where the model is so small that they only wait. */
  threads?: number;
  /** Tokens in one step, at most; default 2048. */
  batchSize?: number;
  /** How many jobs may wait beside those that run; one more is refused with `queue_full`. Default 256. */
  maxQueue?: number;
  /** How long a step may take while anyone decodes, in milliseconds: longer prompts are sliced. Default 100. */
  targetStepMs?: number;
  /** Main memory for the KV cells of conversations that had to give way, in MiB; 0 keeps none. Default 1024. */
  cacheRamMiB?: number;
  /**
   * Computes every sequence alone and from its first token. Kernels round differently for other batch shapes, so that
   * two tokens of nearly equal probability may change places when others are served at the same time or a beginning is
   * cached; this excludes it, at the price of batching, caching and guessing. Default false.
   */
  deterministic?: boolean;
  /**
   * Speculative decoding: tokens to guess at a time, at most, and to check together; 0 is off. Guesses come from the text
   * so far, which pays where answers quote their prompts, or from `draftModel`; only while one or two streams decode.
   * Answers are what they would be without. Default 0, or 8 with a draft model.
   */
  draftMax?: number;
  /** GGUF file of a small model with the same vocabulary, to guess with. */
  draftModel?: string;
  /** Guesses of the draft model that are shorter are not checked. Default 0. */
  draftMin?: number;
  /** The draft model stops guessing at a token that it gives less probability than this. Default 0. */
  draftPMin?: number;
  /** Vision projector (GGUF); default: the one beside the model (see `findProjector`), if there is one; `null`: none. */
  mmproj?: string | null;
  /** Main memory for what pictures were encoded to, in MiB, so that none is encoded twice. Default 256. */
  imageCacheMiB?: number;
  /** Where `generate` fetches pictures from that messages give by address. Default: public addresses only. */
  imageHosts?: ImageHosts;
  /**
   * How the vectors of a text's tokens become the text's vector, where the model's file does not say or is to be
   * overruled; `rank` for models with a head for ranking whose file does not say so. Default: as the file says, or else
   * `mean`.
   */
  pooling?: 'mean' | 'cls' | 'last' | 'rank';
  /** A Jinja template instead of the model's own. */
  chatTemplate?: string;
  /** Writes llama.cpp's log to standard error. Default false. */
  verbose?: boolean;
  /** Called with the fraction loaded, 0 to 1. */
  onProgress?: (fraction: number) => void;
  /** Aborts the load. */
  signal?: AbortSignal;
}

/** A conversation or a prompt, and how to go on from it. */
export type GenerateRequest =
  | GenerateOptions
  | (Omit<GenerateOptions, 'prompt' | 'images'> & { messages: readonly GenerateMessage[] });

/** A loaded model with an engine thread of its own, in this process. */
export class Model implements Engine {
  readonly model: ModelInfo;
  readonly #native: NativeEngine;
  readonly #streams: Map<number, JobStream>;
  readonly #maxQueue: number;
  readonly #imageHosts: ImageHosts;
  readonly #embedder: Embedder;
  readonly #prepared: PreparedPrompts;
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
    this.#embedder = new Embedder(native, info, info.parallel + this.#maxQueue);
    this.#prepared = new PreparedPrompts(native);
  }

  /**
   * Generates from `prompt` (as it is) or from `messages` (through the model's chat template).
   * The stream rejects with a `ChasquiError`, or with the signal's reason.
   */
  generate(request: GenerateRequest, options: { signal?: AbortSignal } = {}): TokenStream {
    if ('prompt' in request) return this.submit(completeJob(request), options);
    const { messages, ...rest } = request;
    return this.#start(options.signal, async () => {
      if (hasImages(messages) && !this.model.vision) throw takesTextOnly(this.model.id);
      const { signal } = options;
      const loaded = await loadChatImages(messages, { hosts: this.#imageHosts, ...(signal && { signal }) });
      const rendered = await this.render(loaded);
      const stop = [...(rest.stop ?? []), ...rendered.additionalStops];
      return completeJob({ ...rest, prompt: rendered.prompt, images: rendered.images, stop });
    });
  }

  submit(job: Job, options: { signal?: AbortSignal } = {}): TokenStream {
    return this.#start(options.signal, async () => job);
  }

  async render(messages: readonly ChatMessage[], options: RenderOptions = {}): Promise<RenderedPrompt> {
    const images: ImageInput[] = [];
    const request = toRenderRequest(messages, options, this.model.imageMarker ?? '', images);
    if (images.length > 0 && !this.model.vision) throw takesTextOnly(this.model.id);
    this.#prepared.share(Object.freeze(images));
    return { ...(await catalogued(this.#native.render(request))), images };
  }

  openParser(format: ReplyFormat): ReplyParser {
    return loadAddon().addon.openParser(format);
  }

  async tokenize(text: string, options: { addSpecial?: boolean; parseSpecial?: boolean } = {}): Promise<Int32Array> {
    return catalogued(this.#native.tokenize(text, options.addSpecial ?? false, options.parseSpecial ?? false));
  }

  async countTokens({ prompt, images }: Pick<RenderedPrompt, 'prompt' | 'images'>): Promise<number> {
    if (images.length === 0) return (await this.tokenize(prompt, { addSpecial: true, parseSpecial: true })).length;
    return (await catalogued(this.#prepared.prepare(prompt, images))).tokens.length;
  }

  async tokenizeInfill(prefix: string, suffix: string): Promise<Int32Array> {
    return catalogued(this.#native.tokenizeInfill(prefix, suffix));
  }

  async pieces(tokens: readonly number[]): Promise<Uint8Array[]> {
    const { bytes, ends } = await catalogued(this.#native.pieces(Int32Array.from(tokens)));
    return Array.from(ends, (end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  }

  async embed(inputs: readonly TextInput[], options: { signal?: AbortSignal } = {}): Promise<Embeddings> {
    return catalogued(this.#embedder.embed(inputs, options.signal));
  }

  async rank(query: string, documents: readonly string[], options: { signal?: AbortSignal } = {}): Promise<Ranking> {
    return catalogued(this.#embedder.rank(query, documents, options.signal));
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

  #start(signal: AbortSignal | undefined, makeJob: () => Promise<Job>): TokenStream {
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
      this.#submitWhenReady(id, stream, makeJob).catch((error) => stream.fail(withCatalogueCode(error)));
    }
    return stream;
  }

  async #submitWhenReady(id: number, stream: JobStream, makeJob: () => Promise<Job>): Promise<void> {
    const job = await makeJob();
    if (stream.ended) return;
    refuseUnknownTokens(job, this.model.vocabularySize);
    const [prompt, constraint] = await Promise.all([
      this.#prepare(job),
      job.grammar && this.#native.compileGrammar(job.grammar),
    ]);
    if (!stream.ended) this.#native.submit(toNative(id, prompt, job), constraint);
  }

  async #prepare({ prompt, images }: Job): Promise<NativePrompt> {
    if (images.length > 0 && !this.model.vision) throw takesTextOnly(this.model.id);
    if (typeof prompt === 'string') return this.#prepared.prepare(prompt, images);
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
