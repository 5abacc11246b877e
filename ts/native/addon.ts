/** The exports of `native/addon.cpp`: the contract between the two languages. */

import type { SamplingSettings } from '../options/sampling-table.js';
import type { NativeFailure } from './failure.js';
import type { NativeOffload, NativeOptions, OpenPreparerRequest, OpenRequest } from './native-options.js';
import type { NativeStats } from './stats.js';

export type { NativeFailure, NativeStats };

/** A file's bytes, pixels of three bytes each, or audio from `decodeAudio`. */
export type NativeImage =
  | { bytes: Uint8Array }
  | { width: number; height: number; rgb: Uint8Array }
  | { samples: Int16Array };

declare const media: unique symbol;

/** The images of a prompt: an opaque handle for `submit`. */
export interface NativeMedia {
  [media]: true;
}

export interface NativePrompt {
  /** Negative for image tokens. */
  tokens: Int32Array;
  media: NativeMedia | null;
}

/** A complete job. -1 means "no limit" in `maxTokens` and "none" in `topLogprobs` and `promptLogprobs`. */
export interface NativeJob {
  id: number;
  prompt: Int32Array;
  media: NativeMedia | null;
  maxTokens: number;
  topLogprobs: number;
  promptLogprobs: number;
  priority: number;
  cachePrompt: boolean;
  cacheSalt: string;
  ignoreEos: boolean;
  /** False disables prompt-lookup drafts: their number varies, and their rounding could change a repeated completion. */
  draftsFromText: boolean;
  /** Do not apply within reasoning and tool calls. */
  stop: readonly string[];
  /** Apply everywhere. */
  formatStops: readonly string[];
  /** Names of control tokens that are visible in the text. */
  preservedTokens: readonly string[];
  /** `null`: reasoning is not limited. */
  reasoning: NativeReasoningLimit | null;
  /** Indices of loaded adapters, ascending. */
  adapters: Int32Array;
  /** One for each of `adapters`. */
  adapterScales: Float32Array;
  sampling: NativeSampling;
}

/** The settings of a job, its seed drawn and its biases as arrays. */
export interface NativeSampling extends Omit<SamplingSettings, 'seed' | 'logitBias'> {
  seed: number;
  /** Whether log-probabilities are those of the draw. */
  logprobsAfter: boolean;
  logitBiasTokens: Int32Array;
  /** One for each of `logitBiasTokens`. */
  logitBiasValues: Float32Array;
}

/** Sizes in bytes, lengths in tokens. */
export interface NativeModelInfo {
  /** llama.cpp's one-line description, e.g. `llama 0.5B Q4_K - Medium`. */
  description: string;
  sizeBytes: number;
  parameterCount: number;
  vocabularySize: number;
  /** Tokens that end a completion. */
  endTokens: readonly number[];
  trainedContextLength: number;
  /** The longest prompt plus completion of one sequence. */
  contextLength: number;
  parallel: number;
  /** Tokens that all sequences together can hold. */
  kvCells: number;
  hasChatTemplate: boolean;
  vision: boolean;
  /** Sample rate of the audio that the model takes, in Hz; 0: it takes none. */
  audioSampleRate: number;
  /** Placeholder of an image or audio in a prompt, random for each load; `null` if the model takes neither. */
  imageMarker: string | null;
  /** By llama.cpp's name: `Q4_K - Medium`. */
  quantization: string;
  /** llama.cpp's number of the tokenizer type. */
  vocabularyType: number;
  /** False for models that only encode: they embed or rank. */
  generates: boolean;
  /**
   * Whether log-probabilities are batch-invariant: bitwise the same whatever is computed beside them. Only without adapters.
   * The CPU module states it for each node of the model's graph.
   */
  batchInvariant: boolean;
  /** Whether the model supports fill-in-the-middle. */
  infills: boolean;
  /** Pooling of embeddings; `rank` gives scores instead. */
  pooling: NonNullable<NativeOptions['pooling']>;
  /** Dimensions of an embedding. */
  vectorLength: number;
  /** The longest input of embeddings and rankings. */
  embeddingContextLength: number;
  placement: NativePlacement;
  /** `genericTools`: the template has no form for tools, so a generic one is used. */
  takesTools: boolean;
  genericTools: boolean;
  /** Whether the template marks reasoning. */
  reasons: boolean;
}

export interface NativePlacement {
  /** GPUs, by ggml's names; empty: CPU only. */
  devices: readonly string[];
  /** Layers on the GPUs; the output counts as one. */
  gpuLayers: number;
  layers: number;
}

export interface NativeFinish {
  reason: 'stop' | 'length';
  stopString: string | null;
  promptTokens: number;
  /** Tokens of the prompt that were taken from the prefix cache. */
  cachedTokens: number;
  /** Sampled tokens, including the end-of-generation token. */
  completionTokens: number;
  /** Of speculative decoding. */
  draftedTokens: number;
  acceptedTokens: number;
  /** Milliseconds, as measured by the engine thread. */
  timings: {
    /** From submission until the sequence was first scheduled. */
    queuedMs: number;
    /** From first being scheduled until the first token was sampled. */
    promptMs: number;
    /** From the first sampled token until the last. */
    predictedMs: number;
  };
}

export interface NativeTokenLogprob {
  id: number;
  bytes: Uint8Array;
  logprob: number;
}

export interface NativeLogprobs extends NativeTokenLogprob {
  top: NativeTokenLogprob[];
}

/** Restricts a completion. */
export interface NativeGrammar {
  /** llama.cpp's notation. */
  gbnf: string;
  /** A JSON schema to use instead of `gbnf`. */
  schema?: string;
  /** Applies from the first trigger on. */
  lazy: boolean;
  /** The text that it applies to is a tool call. Default false. */
  calls?: boolean;
  triggers: readonly NativeTrigger[];
  /** End of the prompt that the grammar already covers. */
  prefill: string;
  /** A lazy grammar is not triggered inside reasoning. */
  thinkingStart: string;
  thinkingEnds: readonly string[];
  /** Instead, the usual tags at the beginning of the completion. Default false. */
  detectsReasoning?: boolean;
}

export interface NativeTrigger {
  /** A text; a regular expression to search for; a regular expression that matches the whole text so far. */
  kind: 'word' | 'pattern' | 'full_pattern';
  value: string;
}

/** How to parse a completion; opaque, for `openParser`. */
export interface NativeReplyFormat {
  kind: number;
  parser: string;
  generationPrompt: string;
  continues: boolean;
  /** The completion may begin with the usual reasoning tags. Default false. */
  detectsReasoning?: boolean;
}

/** The tags around reasoning. `promptEnd`: the end of the prompt, where reasoning may have begun. */
export interface NativeReasoningTags {
  start: string;
  ends: readonly string[];
  promptEnd: string;
  /** The template declares no tags. The completion may begin with any usual pair; this is the first one. */
  isDetected?: boolean;
}

/** After `maxTokens` of reasoning the tokens of `message` and the first closing tag are inserted. */
export interface NativeReasoningLimit extends NativeReasoningTags {
  maxTokens: number;
  message: Int32Array;
}

export interface NativeRenderedPrompt {
  prompt: string;
  additionalStops: string[];
  preservedTokens: string[];
  grammar: NativeGrammar | null;
  format: NativeReplyFormat | null;
  /** `null`: reasoning cannot be told from the rest. */
  reasoning: NativeReasoningTags | null;
  /** Keywords of schemas of tools that the format of calls does not enforce, such as `pattern`. */
  unenforcedKeywords: { tool: string; keywords: string[] }[];
}

/** Growth of a parsed completion, in the order of the fields. */
export interface NativeReplyDelta {
  reasoning?: string;
  content?: string;
  /** Index of the tool call that the following fields belong to. */
  toolIndex?: number;
  /** In the first delta of a call. */
  toolId?: string;
  toolName?: string;
  /** A piece of JSON. */
  toolArguments?: string;
}

export interface NativeReplyParser {
  /** Parses more text. Deltas may be held back until a later call, but not beyond the one with `isLast`. */
  push(text: string, isLast: boolean): NativeReplyDelta[];
  /** Offset of the end of reasoning in the text, in UTF-16 units; 0: none. */
  reasoningLength(): number;
  /** Whether a required call was repeated. The rest of the text has no effect. */
  repeats(): boolean;
}

/** A compiled grammar, for one job. */
export type NativeConstraint = { readonly __constraint: unique symbol };

/**
 * Extras of a record, in this order in `extras`. A record with `progress` has no extras and is no token: in the field of the
 * token id it has the number of computed prompt tokens.
 */
export const RECORD_FLAGS = { logprobs: 2, finish: 1, failure: 4, progress: 8, prompt: 128 } as const;
/** job id, token id, length of the token's text in UTF-16 units, flags. */
export const FIELDS_PER_RECORD = 4;

/** The events since the last call. `records` is reused: read it before returning. */
export type OnEvents = (records: Int32Array, count: number, text: string, extras: unknown[]) => void;

/** The concatenated tokens of several texts, up to the first that is too long. */
export interface NativeTokenLists {
  tokens: Int32Array;
  /** One for each text. Negative for one that is too long, and left out: the least number of its tokens. */
  lengths: Int32Array;
}

/**
 * Templates, tokenizers and grammars. `owner` is a number that identifies a request: owners take turns, and one deadline holds
 * for all calls of an owner. Rejects with `prepare_timeout`; throws `queue_full` if too many calls are waiting.
 */
export interface NativePreparer {
  /** `requestJson`: messages and options (native/llama/chat/chat-template.h). */
  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt>;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array>;
  /** Rejects with `context_length_exceeded` if the text is too long to fit, before tokenizing it. */
  tokenizeTextPrompt(prompt: string, contextLength: number, owner: number): Promise<Int32Array>;
  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array>;
  /** The parts of a JSON schema that no grammar enforces, each with `path` before it. Rejects with `invalid_grammar`. */
  unenforcedParts(schema: string, path: string, owner: number): Promise<string[]>;
  /** Tokenizes texts for embedding; stops at the first with more tokens than `most`. */
  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists>;
  /** Tokenizes each document together with the query, for ranking; stops likewise. */
  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists>;
  /** The concatenated bytes of the tokens, and the end of each. */
  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }>;
  /** Decodes a WAV, MP3 or FLAC file to one channel. Rejects with `invalid_audio` or `audio_too_large`. */
  decodeAudio(file: Uint8Array, sampleRate: number, maxSamples: number, owner: number): Promise<Int16Array>;
  /** Returns one constraint for each of `copies` jobs. */
  compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]>;
  /** Cancels all calls of an owner, and rejects their promises. */
  cancelPreparation(owner: number): void;
}

export interface NativeEngine {
  /** Uses the vocabulary of the engine. */
  readonly preparer: NativePreparer;
  info(): NativeModelInfo;
  /** `images`: one for each image marker in the prompt. */
  tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<NativePrompt>;
  /**
   * `tokens` has all inputs concatenated, `lengths` the length of each, `media` the images of the only input. Resolves with
   * the concatenated vectors; never settles after `cancelEmbed`.
   */
  embed(id: number, tokens: Int32Array, lengths: Int32Array, media: NativeMedia | null): Promise<Float32Array>;
  cancelEmbed(id: number): void;
  submit(job: NativeJob, constraint: NativeConstraint | null): void;
  pause(jobId: number, paused: boolean): void;
  cancel(jobId: number): void;
  /** Ends the job with its next token, as if the model had ended it. */
  finish(jobId: number): void;
  /** Ends the job's running reasoning, if it has a limit. */
  endReasoning(jobId: number): void;
  stats(): NativeStats;
  close(): Promise<void>;
}

/** A device of a ggml module. Memory in bytes; 0: unknown. */
export interface NativeDevice {
  name: string;
  description: string;
  type: 'cpu' | 'gpu' | 'igpu' | 'accel';
  memoryFree: number;
  memoryTotal: number;
}

/** Memory of a device, and the parts of it that a model would take, in bytes. */
export interface NativeDeviceMemory {
  /** ggml's name; empty: main memory. */
  name: string;
  total: number;
  free: number;
  weights: number;
  /** KV cache, or recurrent state. */
  cells: number;
  compute: number;
  /** Projector, and draft model or MTP layer. */
  other: number;
}

export interface Addon {
  open(
    request: OpenRequest,
    onEvents: OnEvents,
    // 0 to 1 for the model, 1 to 2 for its draft model.
    onProgress?: (progress: number) => void,
  ): { engine: Promise<NativeEngine>; abort(): void };
  openParser(format: NativeReplyFormat): NativeReplyParser;
  /**
   * Reads a model's vocabulary, without its weights. Blocks. Calls of the preparer may crash the process or exhaust its
   * memory: use it in a process of its own that ends by `quit`.
   */
  openPreparer(request: OpenPreparerRequest): NativePreparer;
  /**
   * Determines how many layers fit into the free memory of the devices, less `spareBytes` on each. Blocks, and a driver may
   * crash the process: see `fit-child.ts`.
   * @throws {Error} if that cannot be determined.
   */
  fit(request: OpenRequest, spareBytes: number): NativeOffload;
  /**
   * Measures the memory that the model would take with the layers of the request: of each device, and last of main memory.
   * Otherwise like `fit`.
   */
  measure(request: OpenRequest): NativeDeviceMemory[];
  /**
   * Rates how well a CPU module fits this CPU; 0: it would not run.
   * @throws {Error} with the loader's message if the file cannot be loaded.
   */
  scoreModule(path: string): number;
  /**
   * Loads a module and multiplies matrices with it; calls `onStep` after each. A bad module may crash the process: see
   * `probe-child.ts`.
   * @throws {Error} if it does not load, finds no device, or computes wrong results.
   */
  tryModule(path: string, onStep: () => void): NativeDevice[];
  /**
   * Frees every engine of this thread, now. Returns false if work of any thread cannot be stopped: then the process must end
   * by `quit`.
   */
  shutdown(): boolean;
  /**
   * For child processes: this process ends together with its parent, even while it is stopped (Linux), and leaves no core file
   * unless `coreDumps`.
   */
  ownProcess(coreDumps: boolean): void;
  quit(exitCode: number): never;
}
