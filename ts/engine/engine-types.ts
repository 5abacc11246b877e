/** What callers give to an engine and get from it: plain data, because the engine may run in another process. */
import type {
  NativeFinish,
  NativeModelInfo,
  NativeReasoningTags,
  NativeReplyDelta,
  NativeReplyFormat,
  NativeStats,
} from '../native/addon.js';
import type { AdapterInfo, AdapterUse } from './adapter-file.js';
import type { Grammar, ImageInput, SamplingSettings } from './job.js';

/** What is known about a loaded model. */
export interface ModelInfo extends NativeModelInfo {
  /** The name requests use: the alias if one was given, else the file's name without `.gguf`. */
  id: string;
  path: string;
  /** Unix seconds; when the model was loaded. */
  created: number;
  /** What was done instead, and why, where it is not known how many layers fit into the GPUs' memory. */
  unfitted?: string;
  /** The GPUs of the modules that were loaded, those with memory of their own; absent: there are none. */
  gpus?: readonly DeviceMemory[];
  /** What jobs may be computed with (`Job.adapters`); absent: nothing. */
  adapters?: readonly AdapterInfo[];
  /** What jobs are computed with that do not say; absent: nobody has said, and it is none. */
  adaptersInUse?: readonly AdapterUse[];
  /** How its options say that it samples unless a request says otherwise; absent: nothing. */
  sampling?: Partial<SamplingSettings>;
  /** What message parts the model takes. */
  inputModalities: readonly ('text' | 'image')[];
}

export interface DeviceMemory {
  /** By ggml's name. */
  name: string;
  /** 0 where the driver does not say. */
  memoryBytes: number;
}

export interface ChatTextPart {
  type: 'text';
  text: string;
}

export interface ChatImagePart {
  type: 'image';
  image: ImageInput;
}

export type ChatPart = ChatTextPart | ChatImagePart;

/** One chat message, reduced to what a template can use. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Parts are joined to one text, texts that follow one another by a line break. */
  content: string | readonly ChatPart[];
  name?: string;
  /** An assistant's. */
  reasoning?: string;
  toolCalls?: readonly ChatToolCall[];
  /** A tool's: which call this is the result of. */
  toolCallId?: string;
}

export interface ChatToolCall {
  id?: string;
  name: string;
  /** A JSON object as text. */
  arguments: string;
}

export interface ChatTool {
  name: string;
  description?: string;
  /** JSON Schema; absent: the function takes no arguments. */
  parameters?: object;
}

/** What a template and the grammars made for it may be told beside the messages. */
export interface RenderOptions {
  tools?: readonly ChatTool[];
  /** `none` tells the model of the tools all the same; an object names the function that must be called. */
  toolChoice?: 'auto' | 'none' | 'required' | { name: string };
  /** Default: as far as the template can. */
  parallelToolCalls?: boolean;
  /** What the answer must be, unless it calls a tool. */
  jsonSchema?: object;
  /** False: the completion is a new message, also after one of the assistant's, which is continued otherwise. */
  continueFinalMessage?: boolean;
  /** Variables of the template. */
  templateKwargs?: Readonly<Record<string, unknown>>;
}

export interface RenderedPrompt {
  /** The prompt with the model's own special tokens spelled out. */
  prompt: string;
  /** Stop strings that this template needs besides the end-of-generation tokens. */
  additionalStops: readonly string[];
  /** The images of the messages, in order; the prompt holds a marker for each. Their bytes may not change any more. */
  images: readonly ImageInput[];
  /** Names of control tokens that show in the answer, because its format needs them. */
  preservedTokens: readonly string[];
  /** What the answer must be, as tools and schema ask for; `null` when anything will do. */
  grammar: Grammar | null;
  /** How to parse the completion, for the job (`Job.format`); `null` when the completion is just its text. */
  format: ReplyFormat | null;
  /** How to tell reasoning from the rest, for the job (`Job.reasoning`); `null` when that cannot be told. */
  reasoning: ReasoningTags | null;
}

/** Plain data that only the engine understands. */
export type ReplyFormat = NativeReplyFormat;
/** The same. */
export type ReasoningTags = NativeReasoningTags;
/** What a parsed completion grew by. */
export type ReplyDelta = NativeReplyDelta;

export interface Finish extends NativeFinish {
  /** How many of the tokens were spent on reasoning, up to its end mark; only where the job has a format. */
  reasoningTokens?: number;
}
export type FinishReason = Finish['reason'];
export type Timings = Finish['timings'];

export interface TokenLogprob {
  id: number;
  /** The token's own bytes; one character may be spread over several tokens. */
  bytes: Uint8Array;
  logprob: number;
}

export interface TokenLogprobs extends TokenLogprob {
  /** The most probable alternatives, most probable first; as many as the job asked for. */
  top: readonly TokenLogprob[];
}

/** One sampled token. */
export interface Token {
  id: number;
  /**
   * The text that became certain with this token. Empty while a character is incomplete or a stop string may be
   * starting; the concatenation over all tokens is the exact answer.
   */
  text: string;
  /**
   * Only where the job has a format: what the completion grew by since the last token that had this. Text may be held back
   * for a later token, but not beyond the last one. Whatever a model writes can be parsed: what does not fit is content.
   */
  deltas?: readonly ReplyDelta[];
  logprobs?: TokenLogprobs;
  /** On the last token only. */
  finish?: Finish;
}

/** How much of a prompt is computed, in tokens; what was found in the prefix cache is. */
export interface Prefill {
  computed: number;
  total: number;
  /** How many were found there; absent before the first step. */
  cached?: number;
}

/**
 * The tokens of one job. Iterate it once. `break`, `return()` and the job's AbortSignal free the sequence within one
 * engine step. A failure rejects `next()` with a `ChasquiError`; an abort rejects it with the signal's reason.
 */
export interface TokenStream extends AsyncIterableIterator<Token> {
  return(): Promise<IteratorResult<Token>>;
  /** How far the prompt is at this moment; `null` before its length is known, and absent where nobody tells. */
  readonly prefill?: Prefill | null;
  /**
   * Calls `take` with the same tokens, all that are ready at a time, within the engine's wake; resolves at the end. While
   * a promise that `take` returned is open, nothing more is brought. When it throws, or that promise rejects, the
   * sequence is freed and so is this promise rejected.
   */
  forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void>;
}

/** A text, or its tokens. */
export type TextInput = string | readonly number[];

export interface Embeddings {
  /** One for each input, of Euclidean length 1. */
  vectors: Float32Array[];
  promptTokens: number;
}

export interface Ranking {
  /** One for each document, in their order; the greater, the more relevant. What the model's head puts out, unscaled. */
  scores: number[];
  promptTokens: number;
}

/** `restarting`: its process ended, and another is on its way; `failed`: none will be. */
export type EngineState = 'ready' | 'restarting' | 'failed' | 'closed';

/** Counts at one moment. */
export type EngineStats = NativeStats;

/** Jobs that differ in their seeds only, by which they know each other: what they have in common is prepared once. */
export interface Siblings {
  /** How many there are. */
  readonly count: number;
}

export interface SubmitOptions extends AbortOptions {
  siblings?: Siblings;
  /**
   * `forEachBatch` gives all tokens at the end, in one batch. Until then a job whose engine fails can be started once more.
   * Default false.
   */
  whole?: boolean;
}

/** An abort ends the work, which then rejects with the signal's reason. */
export interface AbortOptions {
  signal?: AbortSignal | undefined;
}

/** Former name. */
export type OnBehalf = AbortOptions;

/** Which processes an engine has beside the one that loaded it; `null`: that one is not there at the moment. */
export interface EngineProcesses {
  readonly engine: number | null;
  /** What prepares requests. */
  readonly preparation: number | null;
}
