/** An engine without a model: it obeys the interface and answers by a script. */

import { NO_COUNTS } from '../../ts/api/server/health/handler.js';
import type { AdapterUse } from '../../ts/engine/adapter-file.js';
import {
  type ChatMessage,
  type Embeddings,
  type EmbedInput,
  Engine,
  type EngineState,
  type EngineStats,
  type Finish,
  joinParts,
  type ModelInfo,
  type Ranking,
  type ReasoningTags,
  type RenderedPrompt,
  type RenderOptions,
  type ReplyFormat,
  type Token,
  type TokenLogprobs,
} from '../../ts/engine/engine.js';
import type { ImageInput, Job } from '../../ts/engine/job.js';
import { ChasquiError } from '../../ts/errors.js';
import type { NativeReplyParser } from '../../ts/native/addon.js';
import { FakeParser, parseBatches } from './fake-parser.js';
import { FakeStream } from './fake-stream.js';

export interface FakeScript {
  /** The batches of tokens, one for each wake; the last token gets a `finish` unless it has one ... */
  batches?: (job: Job) => Partial<Token>[][];
  /** ... or unless this is set: a stream that just stops. */
  unfinished?: boolean;
  /** Thrown instead of the batch with this number. */
  failAt?: number;
  failWith?: unknown;
  /** Those of the prompt tokens after the first. */
  promptLogprobs?: (job: Job) => TokenLogprobs[];
  renderWith?: (messages: readonly ChatMessage[], options: RenderOptions) => Partial<RenderedPrompt>;
  /** Answers have a format even without tools: their reasoning stands in `<think>` tags. */
  reasons?: boolean;
  /** Parses answers with a format; default: a `FakeParser` for each. */
  parser?: () => NativeReplyParser;
  model?: Partial<ModelInfo>;
  /** With this, a batch comes only when `step()` is called. */
  manual?: boolean;
}

export const HELLO: Partial<Token>[][] = [[{ text: 'Hel' }], [{ text: 'lo' }, { text: '' }, { text: '!' }]];

/** The converter itself is tested in test/llama and test/model. */
function fakeUnenforcedParts(schema: object, path: string): string[] {
  // Like `properties`, a property can be of any type: only the model's engine checks it.
  return Object.entries(schema ?? {}).flatMap(([keyword, value]): string[] => {
    if (keyword === 'uniqueItems' || (keyword === 'format' && value === 'color')) return [`${path}.${keyword}`];
    if (keyword !== 'properties') return [];
    return Object.entries((value ?? {}) as Record<string, object>).flatMap(([name, property]) =>
      fakeUnenforcedParts(property, `${path}.properties.${name}`),
    );
  });
}

export class FakeEngine extends Engine {
  model: ModelInfo;
  /** Every job submitted, in order. */
  readonly jobs: Job[] = [];
  /** Every conversation rendered, in order. */
  readonly conversations: (readonly ChatMessage[])[] = [];
  /** The render options of each conversation. */
  readonly renderOptions: RenderOptions[] = [];
  readonly running = new Set<FakeStream>();
  /** Batches handed out. */
  pulled = 0;
  finished = 0;
  cancelled = 0;
  closed = false;
  state: EngineState = 'ready';
  #script: FakeScript;

  constructor(script: FakeScript = {}) {
    super({});
    this.#script = script;
    const model = { ...MODEL, ...script.model };
    const media = [model.vision && ('image' as const), model.audioSampleRate > 0 && ('audio' as const)];
    this.model = { ...model, inputModalities: ['text', ...media.filter((each) => each !== false)] };
  }

  /** Changes what later jobs do. */
  play(script: FakeScript): void {
    this.#script = { ...this.#script, ...script };
  }

  override async renderChat(messages: readonly ChatMessage[], options: RenderOptions = {}): Promise<RenderedPrompt> {
    this.conversations.push(messages);
    this.renderOptions.push(options);
    const images: ImageInput[] = [];
    const texts = messages.map(({ role, content }) => `<${role}>${joinParts(content, '<image>', images)}`);
    const format = options.tools || this.#script.reasons ? FAKE_FORMAT : null;
    const reasoning = this.#script.reasons ? FAKE_TAGS : null;
    const rendered = { ...plainPrompt(texts.join('')), images, format, reasoning };
    return { ...rendered, ...this.#script.renderWith?.(messages, options) };
  }

  override async tokenize(text: string): Promise<Int32Array> {
    return Int32Array.from(Buffer.from(text));
  }

  override async countTokens({ prompt }: { prompt: string }): Promise<number> {
    return Buffer.byteLength(prompt);
  }

  override async tokenizeInfill(prefix: string, suffix: string): Promise<Int32Array> {
    return this.tokenize(`<pre>${prefix}<suf>${suffix}<mid>`);
  }

  override async unenforcedParts(schema: object, path: string): Promise<string[]> {
    return fakeUnenforcedParts(schema, path);
  }

  override async pieces(tokens: readonly number[]): Promise<Uint8Array[]> {
    return tokens.map((token) => Uint8Array.of(token));
  }

  /** A text's vector is its length and its first byte. Each image is a token at its end. */
  override async embed(inputs: readonly EmbedInput[]): Promise<Embeddings> {
    const tokens = inputs.map((input): readonly number[] => {
      if (typeof input === 'string') return [...Buffer.from(input)];
      return 'images' in input ? [...Buffer.from(input.prompt), ...input.images.map(() => 255)] : input;
    });
    const tooLong = tokens.findIndex(({ length }) => length > this.model.embeddingContextLength);
    if (tooLong >= 0) {
      const param = `input[${tooLong}]`;
      throw new ChasquiError('context_length_exceeded', `\`${param}\` is too long.`, param);
    }
    return {
      vectors: tokens.map((each) =>
        this.model.pooling === 'none'
          ? Float32Array.from(each.flatMap((token, at) => [at, token]))
          : Float32Array.of(each.length, each[0] ?? 0),
      ),
      promptTokens: tokens.flat().length,
    };
  }

  /** A document is as relevant as it is long. */
  override async rank(query: string, documents: readonly string[]): Promise<Ranking> {
    if (this.model.pooling !== 'rank') throw new ChasquiError('model_not_capable', 'This model does not rank.');
    const promptTokens = documents.reduce((sum, { length }) => sum + length + query.length, 0);
    return { scores: documents.map(({ length }) => length), promptTokens };
  }

  async call(): Promise<never> {
    throw new Error('A fake engine has no native code.');
  }

  submit(given: Job, { signal }: { signal?: AbortSignal } = {}): FakeStream {
    const job = { ...given, adapters: given.adapters ?? this.model.adaptersInUse ?? null };
    this.jobs.push(job);
    const script = this.#script;
    const stream = new FakeStream({
      batches: complete(script, job),
      failAt: this.#refusal(job) ? 0 : script.failAt,
      failWith: this.#refusal(job) ?? script.failWith,
      manual: script.manual ?? false,
      signal,
      onBatch: () => {
        this.pulled += 1;
      },
      onEnd: (cancelled) => {
        this.running.delete(stream);
        if (cancelled) this.cancelled += 1;
        else this.finished += 1;
      },
    });
    stream.promptLogprobs = script.promptLogprobs?.(job) ?? [];
    this.running.add(stream);
    return stream;
  }

  /** Lets every running stream have its next batch. */
  step(): void {
    for (const stream of this.running) stream.step();
  }

  override async stats(): Promise<EngineStats> {
    return {
      ...NO_COUNTS,
      active: this.running.size,
      kvCellsTotal: this.model.contextLength,
      jobsFinished: this.finished,
      jobsCancelled: this.cancelled,
    };
  }

  useAdapters(adaptersInUse: readonly AdapterUse[]): void {
    this.model = { ...this.model, adaptersInUse };
  }

  async close(reason = new ChasquiError('engine_closed', 'The engine was closed.')): Promise<void> {
    this.closed = true;
    for (const stream of this.running) stream.fail(reason);
  }

  /** One token per character of the prompt. */
  #refusal(job: Job): ChasquiError | undefined {
    if (job.prompt.length < this.model.contextLength) return undefined;
    const { contextLength } = this.model;
    const error = new ChasquiError(
      'context_length_exceeded',
      `The prompt is ${job.prompt.length} tokens long, but the context holds ${contextLength}.`,
    );
    return Object.assign(error, { promptTokens: job.prompt.length, contextLength });
  }
}

function complete({ batches, unfinished, parser }: FakeScript, job: Job): Token[][] {
  const tokens = (batches?.(job) ?? HELLO).map((batch) => batch.map((token) => ({ id: 1, text: '', ...token })));
  const last = tokens.at(-1)?.at(-1);
  if (last && !unfinished) last.finish ??= finishOf(job.prompt.length, tokens.flat().length);
  return job.format === null ? tokens : parseBatches(tokens, parser?.() ?? new FakeParser());
}

export function finishOf(promptTokens: number, completionTokens: number, changes: Partial<Finish> = {}): Finish {
  return {
    reason: 'stop',
    stopString: null,
    promptTokens,
    cachedTokens: 0,
    completionTokens,
    draftedTokens: 0,
    acceptedTokens: 0,
    timings: { queuedMs: 0, promptMs: 0, predictedMs: 0 },
    ...changes,
  };
}

/** A rendered prompt for a completion that is plain text. */
export function plainPrompt(prompt: string): RenderedPrompt {
  return {
    prompt,
    additionalStops: [],
    preservedTokens: [],
    grammar: null,
    format: null,
    reasoning: null,
    unenforcedKeywords: [],
    images: [],
  };
}

const FAKE_FORMAT: ReplyFormat = { kind: 0, parser: 'fake', generationPrompt: '', continues: false };

export const FAKE_TAGS: ReasoningTags = { start: '<think>', ends: ['</think>'], promptEnd: '' };

const MODEL: ModelInfo = {
  id: 'fake',
  path: '/models/fake.gguf',
  created: 1_700_000_000,
  description: 'fake 0B',
  sizeBytes: 0,
  parameterCount: 0,
  vocabularySize: 256,
  endTokens: [0, 3],
  trainedContextLength: 4096,
  contextLength: 4096,
  parallel: 4,
  kvCells: 4 * 4096,
  inputModalities: ['text'],
  hasChatTemplate: true,
  vision: false,
  audioSampleRate: 0,
  imageMarker: null,
  quantization: 'F16',
  vocabularyType: 2,
  generates: true,
  batchInvariant: false,
  infills: true,
  pooling: 'mean',
  vectorLength: 2,
  embeddingContextLength: 16,
  placement: { devices: [], gpuLayers: 0, layers: 2 },
  takesTools: true,
  genericTools: false,
  reasons: false,
};
