/** What `native/addon.cpp` exports: the contract between the two languages. */

import type { NativeFailure } from './failure.js';
import type { NativeOffload, NativePooling, OpenPreparerRequest, OpenRequest } from './open-request.js';
import type { NativeStats } from './stats.js';

export type { NativeFailure, NativeStats };

/** A file's bytes, or pixels of three bytes each. */
export type NativeImage = { bytes: Uint8Array } | { width: number; height: number; rgb: Uint8Array };

declare const media: unique symbol;

/** The images of a prompt: to be held, and handed to `submit` with the prompt's tokens. */
export interface NativeMedia {
  [media]: true;
}

export interface NativePrompt {
  /** Those that stand for images are negative. */
  tokens: Int32Array;
  media: NativeMedia | null;
}

/** A job, with nothing left open. -1 stands for "no limit" in `maxTokens` and for "none" in `topLogprobs`. */
export interface NativeJob {
  id: number;
  prompt: Int32Array;
  media: NativeMedia | null;
  maxTokens: number;
  topLogprobs: number;
  priority: number;
  cachePrompt: boolean;
  ignoreEos: boolean;
  /** False where the same text is to come again and rounding could change it: how much is drafted depends on what steps took. */
  draftsFromText: boolean;
  stop: readonly string[];
  /** Names of control tokens that show in the text. */
  preservedTokens: readonly string[];
  /** `null`: it may be as long as the completion. */
  reasoning: NativeReasoningLimit | null;
  /** Places of adapters among those that were loaded, ascending. */
  adapters: Int32Array;
  /** One for each of `adapters`. */
  adapterScales: Float32Array;
  sampling: {
    temperature: number;
    topK: number;
    topP: number;
    minP: number;
    repeatPenalty: number;
    repeatLastN: number;
    presencePenalty: number;
    frequencyPenalty: number;
    typicalP: number;
    topNSigma: number;
    xtcProbability: number;
    xtcThreshold: number;
    dynatempRange: number;
    dynatempExponent: number;
    mirostat: number;
    mirostatTau: number;
    mirostatEta: number;
    dryMultiplier: number;
    dryBase: number;
    dryAllowedLength: number;
    dryPenaltyLastN: number;
    drySequenceBreakers: readonly string[];
    /** By llama.cpp's names; empty: all, in their usual order. */
    samplers: readonly string[];
    seed: number;
    /** Whether log-probabilities are those of the draw. */
    logprobsAfter: boolean;
    logitBiasTokens: Int32Array;
    /** One for each of `logitBiasTokens`. */
    logitBiasValues: Float32Array;
  };
}

/** What the model's file and its context say. Sizes in bytes, lengths in tokens. */
export interface NativeModelInfo {
  /** llama.cpp's one-line description, e.g. `llama 0.5B Q4_K - Medium`. */
  description: string;
  sizeBytes: number;
  parameterCount: number;
  vocabularySize: number;
  /** Those that end a completion. */
  endTokens: readonly number[];
  /** The longest context the model was trained for. */
  trainedContextLength: number;
  /** The longest prompt plus answer that one sequence can hold here. */
  contextLength: number;
  /** How many sequences decode at the same time. */
  parallel: number;
  /** How many tokens all sequences can hold together. */
  kvCells: number;
  /** False when the file carries no chat template. */
  hasChatTemplate: boolean;
  /** Whether the model takes images. */
  vision: boolean;
  /** What stands for an image in a prompt, random and new for each load; `null` without vision. */
  imageMarker: string | null;
  /** How the weights are stored, as llama.cpp says it: `Q4_K - Medium`. */
  quantization: string;
  /** llama.cpp's number for the kind of tokenizer. */
  vocabularyType: number;
  /** False for models that only encode: they embed or rank, and answer nothing. */
  generates: boolean;
  /**
   * Whether a token's log-probabilities are known to have the same bits whatever is computed beside it, where no adapters
   * are used: the CPU module says so of each node of the model's graph.
   */
  roundsAlike: boolean;
  /** Whether the model can fill the gap between two texts. */
  infills: boolean;
  /** How a text's vector comes about; `rank` makes a score instead. */
  pooling: NativePooling;
  /** Numbers in the vector of a text. */
  vectorLength: number;
  /** The longest text that can be embedded or ranked. */
  embeddingContextLength: number;
  placement: NativePlacement;
  /** Whether tools can be offered, and whether in a general form, because the template has none of its own. */
  takesTools: boolean;
  genericTools: boolean;
  /** Whether the template tells reasoning from answers. */
  reasons: boolean;
}

/** Where a model went. */
export interface NativePlacement {
  /** GPUs, by ggml's names; empty: everything is computed on the CPU. */
  devices: readonly string[];
  /** How many of the model's layers are on them, the output counted as one. */
  gpuLayers: number;
  layers: number;
}

/** How a job ended. */
export interface NativeFinish {
  reason: 'stop' | 'length';
  /** The stop string that ended the text, if one did. */
  stopString: string | null;
  promptTokens: number;
  /** Of the prompt's tokens, how many were found in the cache and not computed again. */
  cachedTokens: number;
  /** Every sampled token counts, the end-of-generation token included. */
  completionTokens: number;
  /** Tokens that speculative decoding drafted, and how many of them were accepted. */
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

/** What an answer may consist of, in GBNF, llama.cpp's notation. */
export interface NativeGrammar {
  gbnf: string;
  /** A JSON schema as text, which the grammar is made of instead. */
  schema?: string;
  /** Whether it applies from one of the triggers on only. */
  lazy: boolean;
  triggers: readonly NativeTrigger[];
  /** What the prompt ends with and the grammar begins with. */
  prefill: string;
  /** Between these a lazy grammar is not triggered. */
  thinkingStart: string;
  thinkingEnds: readonly string[];
}

export interface NativeTrigger {
  /** A text; a regular expression found anywhere; one for all of the text so far. */
  kind: 'word' | 'pattern' | 'full_pattern';
  value: string;
}

/** How an answer is taken apart; means something to `openParser` only. */
export interface NativeReplyFormat {
  kind: number;
  parser: string;
  generationPrompt: string;
  continues: boolean;
}

/** Between which tags a template has reasoning; the end of the prompt may hold some of it. */
export interface NativeReasoningTags {
  start: string;
  ends: readonly string[];
  promptEnd: string;
}

/** How many tokens of reasoning there may be before those of `message` and the first closing tag are written. */
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
  /** `null`: the template has no reasoning, or no tags around it. */
  reasoning: NativeReasoningTags | null;
}

/** What an answer grew by; what is there came in this order. */
export interface NativeReplyDelta {
  reasoning?: string;
  content?: string;
  /** Of the tool call that the following belong to. */
  toolIndex?: number;
  /** In a call's first delta, with its name. */
  toolId?: string;
  toolName?: string;
  /** JSON, a piece of it. */
  toolArguments?: string;
}

export interface NativeReplyParser {
  /** Adds to the answer. News may be held back for a later call, but for none after the one with `isLast`. */
  push(text: string, isLast: boolean): NativeReplyDelta[];
  /** How much of the answer its reasoning and all before it take, in UTF-16 units; 0 when there is none. */
  reasoningLength(): number;
}

/** A compiled grammar; submitted once. */
export type NativeConstraint = { readonly __constraint: unique symbol };

/**
 * Which extras a record has; in this order in `extras`. A record with `progress` has none, and is no token: it says how
 * many of the prompt's tokens are computed, where another record has its token.
 */
export const RECORD_FLAGS = { logprobs: 2, finish: 1, failure: 4, progress: 8 } as const;
/** job id, token id, length of the token's text in UTF-16 units, flags. */
export const FIELDS_PER_RECORD = 4;

/** Everything that happened since the last call; `records` is reused, so read it before returning. */
export type OnEvents = (records: Int32Array, count: number, text: string, extras: unknown[]) => void;

/** The tokens of several texts, one after another, as far as they could be taken. */
export interface NativeTokenLists {
  tokens: Int32Array;
  /** Of each text. Negative for a last one that has too many to be there: it has at least as many. */
  lengths: Int32Array;
}

/**
 * Whatever is prepared by templates, tokenizers and grammars has an `owner`, a number of the caller's choice: owners take
 * turns, and a deadline is for all that one of them asks for, together or one after another. Rejects with
 * `prepare_timeout` or, when too much is waiting, throws `queue_full`.
 */
export interface NativePreparer {
  /** `requestJson`: the messages and what else a template needs to know (native/llama/chat-template.h). */
  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt>;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array>;
  /** Rejects with `context_length_exceeded` when it is clear beforehand that it cannot fit. */
  tokenizeTextPrompt(prompt: string, contextLength: number, owner: number): Promise<Int32Array>;
  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array>;
  /** What is embedded of each text; ends with the first that has more tokens than `most`. */
  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists>;
  /** What a ranking model reads for each document; ends likewise. */
  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists>;
  /** The tokens spelled out, one after another, and where each ends. */
  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }>;
  /** `copies`: how many jobs it is for. */
  compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]>;
  /** Ends what is being prepared for an owner, and rejects its promises. */
  cancelPreparation(owner: number): void;
}

export interface NativeEngine {
  /** With the engine's own vocabulary; it ends with the engine. */
  readonly preparer: NativePreparer;
  info(): NativeModelInfo;
  /** Prepares a prompt, as `preparer` does. `images`: one for each image marker in it. */
  tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<NativePrompt>;
  /**
   * `tokens` holds all inputs one after another, `lengths` the length of each. Resolves with their vectors, one after
   * another; never settles once it has been cancelled.
   */
  embed(id: number, tokens: Int32Array, lengths: Int32Array): Promise<Float32Array>;
  cancelEmbed(id: number): void;
  submit(job: NativeJob, constraint: NativeConstraint | null): void;
  pause(jobId: number, paused: boolean): void;
  cancel(jobId: number): void;
  stats(): NativeStats;
  close(): Promise<void>;
}

/** A device of one of ggml's modules; memory in bytes, 0 where the driver does not say. */
export interface NativeDevice {
  name: string;
  description: string;
  type: 'cpu' | 'gpu' | 'igpu' | 'accel';
  memoryFree: number;
  memoryTotal: number;
}

/** What a device has, and what a model would take of it, in bytes. */
export interface NativeDeviceMemory {
  /** ggml's name; empty: main memory. */
  name: string;
  total: number;
  free: number;
  weights: number;
  /** The KV cache, or what a model has in its place. */
  cells: number;
  compute: number;
  /** Projector, and draft model or what the MTP layer computes with. */
  other: number;
}

export interface Addon {
  open(
    request: OpenRequest,
    onEvents: OnEvents,
    // From 0 to 1 for the model, and on to 2 for its draft model.
    onProgress?: (progress: number) => void,
  ): { engine: Promise<NativeEngine>; abort(): void };
  openParser(format: NativeReplyFormat): NativeReplyParser;
  /**
   * Reads a model's vocabulary, without its weights. Blocks, and what is prepared may end the process or take all of its
   * memory: for a process that does nothing else, and that ends by `quit`.
   */
  openPreparer(request: OpenPreparerRequest): NativePreparer;
  /**
   * How many layers fit into the devices' free memory, less `spareBytes` on each. Blocks, and a driver may end the
   * process: see `fit-child.ts`.
   * @throws {Error} when that cannot be worked out.
   */
  fit(request: OpenRequest, spareBytes: number): NativeOffload;
  /**
   * What the model would take with the layers that the request says, of each device and of main memory, which comes last.
   * As `fit` in everything else.
   */
  measure(request: OpenRequest): NativeDeviceMemory[];
  /**
   * How well a CPU module fits this CPU; 0: it would not run.
   * @throws {Error} with the loader's words when the file cannot be loaded.
   */
  scoreModule(path: string): number;
  /**
   * Loads a module and has it multiply matrices, `onStep` after each; a bad one may end the process: see `probe-child.ts`.
   * @throws {Error} when it does not load, finds no device, or computes wrongly.
   */
  tryModule(path: string, onStep: () => void): NativeDevice[];
  /**
   * Frees every engine of this thread, now. False when something goes on, of whichever thread, that cannot be ended: then
   * the process must end by `quit`.
   */
  shutdown(): boolean;
  /**
   * For a process that has an engine of its own: it ends at once when the one that started it does, even while it is
   * stopped (Linux), and leaves no core file unless `coreDumps`.
   */
  ownProcess(coreDumps: boolean): void;
  /** Ends the process at once. */
  quit(exitCode: number): never;
}
