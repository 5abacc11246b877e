/** Arguments and results of an engine: plain data, because it may run in another process. */
import type {
  NativeFinish,
  NativeModelInfo,
  NativeReasoningTags,
  NativeReplyDelta,
  NativeReplyFormat,
  NativeStats,
} from '../native/addon.js';
import type { SamplingSettings } from '../options/sampling-table.js';
import type { AdapterInfo, AdapterUse } from './adapter-file.js';
import type { Grammar, ImageInput } from './job.js';

export interface ModelInfo extends NativeModelInfo {
  /** The alias, or the name of the file without `.gguf`. */
  id: string;
  path: string;
  /** Unix seconds; when its file was modified. */
  created: number;
  /** Why not all layers are on the GPUs; if it is unknown how many fit, what was done instead. */
  unfitted?: string;
  /** GPUs with memory of their own, from the loaded modules; absent: none. */
  gpus?: readonly DeviceMemory[];
  /** Adapters that jobs may use (`Job.adapters`); absent: none. */
  adapters?: readonly AdapterInfo[];
  /** Adapters of jobs that name none; absent: none. */
  adaptersInUse?: readonly AdapterUse[];
  /** Sampling defaults from the load options; absent: none. */
  sampling?: Partial<SamplingSettings>;
  inputModalities: readonly ('text' | 'image' | 'audio')[];
}

export interface DeviceMemory {
  /** Of ggml: `CUDA0`. */
  name: string;
  /** 0: unknown. */
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

/** A chat message with the fields that templates use. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Parts become one text; adjacent texts are joined by a line break. */
  content: string | readonly ChatPart[];
  name?: string;
  /** Only of the assistant. */
  reasoning?: string;
  toolCalls?: readonly ChatToolCall[];
  /** Only of a tool: the call that this is the result of. */
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

/** Options of a template and of the grammars made for it. */
export interface RenderOptions {
  /** Functions that the model may call. Default: none. */
  tools?: readonly ChatTool[];
  /** `none` still describes the tools to the model; an object names the function that must be called. Default: `auto`. */
  toolChoice?: 'auto' | 'none' | 'required' | { name: string };
  /** Default: if the template supports it. */
  parallelToolCalls?: boolean;
  /** JSON schema of the completion, unless it calls a tool. Default: none. */
  jsonSchema?: object;
  /** False: a trailing assistant message is not continued, but followed by a new one. Default: true. */
  continueFinalMessage?: boolean;
  /** Parses control tokens in messages, tools and template variables; by default their text is plain. */
  specialTokens?: boolean;
  /** Variables of the chat template; they override those of the load options. Default: none. */
  templateKwargs?: Readonly<Record<string, unknown>>;
}

export interface RenderedPrompt {
  /** Special tokens are spelled out. `readablePrompt` removes the marks of those in the text of messages. */
  prompt: string;
  /** Stop strings of the template, besides the end-of-generation tokens. */
  additionalStops: readonly string[];
  /** One for each marker in the prompt, in order. Do not change their bytes. */
  images: readonly ImageInput[];
  /** Control tokens that stay visible in the completion, because its format needs them. */
  preservedTokens: readonly string[];
  /** Enforces tools and schema; `null`: the completion is free. */
  grammar: Grammar | null;
  /** For `Job.format`; `null`: the completion is plain text. */
  format: ReplyFormat | null;
  /** For `Job.reasoning`; `null`: reasoning cannot be told from the rest. */
  reasoning: ReasoningTags | null;
  /** Keywords of schemas of tools that the format of calls does not enforce, such as `pattern`. */
  unenforcedKeywords: readonly { tool: string; keywords: readonly string[] }[];
}

/** Opaque. */
export type ReplyFormat = NativeReplyFormat;
/** Opaque. */
export type ReasoningTags = NativeReasoningTags;
/** Growth of a parsed completion. */
export type ReplyDelta = NativeReplyDelta;

export interface Finish extends NativeFinish {
  /** Tokens of reasoning, including its end mark; only if the job has a format. */
  reasoningTokens?: number;
}
export type FinishReason = Finish['reason'];
export type Timings = Finish['timings'];

export interface TokenLogprob {
  id: number;
  /** A character may be split across tokens. A control token has its name in prompts, and no bytes in completions. */
  bytes: Uint8Array;
  logprob: number;
}

export interface TokenLogprobs extends TokenLogprob {
  /** The most probable tokens, in descending order; `Job.topLogprobs` of them. */
  top: readonly TokenLogprob[];
}

export interface Token {
  id: number;
  /**
   * The text that this token completed; empty inside a character and while a stop string may begin. The texts of all tokens
   * concatenate to the completion.
   */
  text: string;
  /**
   * Only if the job has a format: growth of the completion since the last token with deltas. Text may be held back for a later
   * token, but not beyond the last one. Parsing never fails: text that does not fit the format becomes content.
   */
  deltas?: readonly ReplyDelta[];
  logprobs?: TokenLogprobs;
  /** On the last token only. */
  finish?: Finish;
}

/** Progress of a prompt, in tokens. `computed` includes those from the prefix cache. */
export interface Prefill {
  computed: number;
  total: number;
  /** From the prefix cache; absent before the first step. */
  cached?: number;
}

/** `endReasoning`: the closing tag comes next. `finish`: the next token is the last. */
export type JobControl = 'endReasoning' | 'finish';

/**
 * The tokens of one job, to be iterated once. `break`, `return()` and the job's AbortSignal free the sequence within one
 * engine step. A failure rejects `next()` with a `ChasquiError`, an abort with the signal's reason.
 */
export interface TokenStream extends AsyncIterableIterator<Token> {
  return(): Promise<IteratorResult<Token>>;
  /** `null` before the length of the prompt is known; absent: unknown. */
  readonly prefill?: Prefill | null;
  /** Number of tokens that the reader has not got yet; absent: unknown. */
  readonly unread?: number;
  /** Log-probabilities of the computed prompt tokens except the first; empty unless the job asked for them. */
  readonly promptLogprobs?: readonly TokenLogprobs[];
  /** Changes the running job. `endReasoning` needs `reasoningControl` in the job. Absent: the job cannot be changed. */
  control?(action: JobControl): void;
  /** Calls `listener` with all tokens that the reader is about to get. */
  observe(listener: (tokens: readonly Token[]) => void): void;
  /**
   * Calls `take` with all tokens that are ready, within the wake of the engine; resolves at the end. Waits for promises that
   * `take` returns. If it throws or its promise rejects, this promise rejects and the sequence is freed.
   */
  forEachBatch(take: (tokens: Token[]) => void | Promise<void>): Promise<void>;
}

/** Text or tokens. */
export type TextInput = string | readonly number[];

/** A text that contains `ModelInfo.imageMarker` once for each image. */
export interface ImagePrompt {
  prompt: string;
  images: readonly ImageInput[];
}

/** What `countTokens` takes besides a text, such as the result of `render`. */
export type CountedPrompt = Pick<ImagePrompt, 'prompt'> & Partial<Pick<ImagePrompt, 'images'>>;

export type EmbedInput = TextInput | ImagePrompt;

export interface Embeddings {
  /** One for each input, of Euclidean length 1. With `pooling: 'none'`: the unscaled vectors of its tokens, joined. */
  vectors: Float32Array[];
  promptTokens: number;
}

export interface Ranking {
  /** One for each document; greater is more relevant. The unscaled output of the model's head. */
  scores: number[];
  promptTokens: number;
}

/** `restarting`: a process ended and is being replaced; `failed`: it is not replaced any more. */
export type EngineState = 'ready' | 'restarting' | 'failed' | 'closed';

export type EngineStats = NativeStats;

/** Identifies jobs that differ in their seeds only: they are prepared together. */
export interface Siblings {
  readonly count: number;
}

export interface SubmitOptions extends AbortOptions {
  siblings?: Siblings;
  /** `forEachBatch` gives all tokens at the end, in one batch; until then a failed job can be restarted. Default false. */
  whole?: boolean;
}

/** An abort ends the work, which then rejects with the signal's reason. */
export interface AbortOptions {
  signal?: AbortSignal | undefined;
}

/** Process ids of an engine; `null`: not running at the moment. */
export interface EngineProcesses {
  readonly engine: number | null;
  readonly preparation: number | null;
}
