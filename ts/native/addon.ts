/** What `native/addon.cpp` exports: the contract between the two languages. */

/** The failures that native code reports, as plain objects on the way out and as `Error.code` when thrown. */
export interface NativeFailure {
  code: string;
  message: string;
}

/** A job, with nothing left open. -1 stands for "no limit" in `maxTokens` and for "none" in `topLogprobs`. */
export interface NativeJob {
  id: number;
  prompt: Int32Array;
  maxTokens: number;
  topLogprobs: number;
  priority: number;
  cachePrompt: boolean;
  ignoreEos: boolean;
  stop: readonly string[];
  sampling: {
    temperature: number;
    topK: number;
    topP: number;
    minP: number;
    repeatPenalty: number;
    repeatLastN: number;
    presencePenalty: number;
    frequencyPenalty: number;
    seed: number;
    logitBiasTokens: Int32Array;
    /** One for each of `logitBiasTokens`. */
    logitBiasValues: Float32Array;
  };
}

export interface NativeModelInfo {
  description: string;
  sizeBytes: number;
  parameterCount: number;
  vocabularySize: number;
  trainedContextLength: number;
  contextLength: number;
  parallel: number;
  hasChatTemplate: boolean;
}

export interface NativeFinish {
  reason: 'stop' | 'length';
  stopString: string | null;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  timings: { queuedMs: number; promptMs: number; predictedMs: number };
}

export interface NativeTokenLogprob {
  id: number;
  bytes: Uint8Array;
  logprob: number;
}

export interface NativeLogprobs extends NativeTokenLogprob {
  top: NativeTokenLogprob[];
}

export interface NativeStats {
  active: number;
  queued: number;
  kvCellsUsed: number;
  kvCellsCached: number;
  kvCellsTotal: number;
  jobsFinished: number;
  jobsCancelled: number;
  promptTokens: number;
  completionTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  decodeSteps: number;
}

/** Which extras a record has; in this order in `extras`. */
export const RECORD_FLAGS = { logprobs: 2, finish: 1, failure: 4 } as const;
/** job id, token id, length of the token's text in UTF-16 units, flags. */
export const FIELDS_PER_RECORD = 4;

/** Everything that happened since the last call; `records` is reused, so read it before returning. */
export type OnEvents = (records: Int32Array, count: number, text: string, extras: unknown[]) => void;

export interface NativeEngine {
  info(): NativeModelInfo;
  /** `messagesJson`: an array of messages in OpenAI's format. */
  render(messagesJson: string): Promise<{ prompt: string; additionalStops: string[] }>;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Promise<Int32Array>;
  tokenizePrompt(prompt: string): Promise<Int32Array>;
  submit(job: NativeJob): void;
  pause(jobId: number, paused: boolean): void;
  cancel(jobId: number): void;
  stats(): NativeStats;
  close(): Promise<void>;
}

export interface OpenRequest {
  /** The folder that holds ggml's modules. */
  backendDirectory: string;
  /** llama.cpp's log to standard error. Decided by the first engine of a process. */
  verbose: boolean;
  path: string;
  options: {
    /** Tokens; 0: the trained length, at most 4096. */
    contextLength: number;
    parallel: number;
    /** 0: one per physical core. */
    threads: number;
    batchSize: number;
    ubatchSize: number;
    targetStepMs: number;
    cacheRamBytes: number;
    deterministic: boolean;
    /** Tokens to guess at a time by prompt lookup; 0: none. */
    draftMax: number;
  };
}

export interface Addon {
  open(
    request: OpenRequest,
    onEvents: OnEvents,
    onProgress?: (fraction: number) => void,
  ): { engine: Promise<NativeEngine>; abort(): void };
  /** Frees every engine of this thread, now. */
  shutdown(): void;
}
