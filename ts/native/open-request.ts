/** What native code is asked to open, in its own words. */

export type NativePooling = 'mean' | 'cls' | 'last' | 'rank';

export interface OpenRequest {
  /** ggml's modules to load, absolute paths: GPU modules, then one for the CPU. Decided by the first engine of a process. */
  modules: readonly string[];
  /** llama.cpp's log to standard error. Decided by the first engine of a process. */
  verbose: boolean;
  path: string;
  /** How long a request's preparation may take. */
  prepareTimeoutMs: number;
  options: {
    offload: NativeOffload;
    /** Tokens; 0: the trained length, at most 4096. */
    contextLength: number;
    /** The same of an input that is embedded or ranked. */
    embeddingContextLength: number;
    parallel: number;
    /** 0: one per physical core, or fewer for a model too small to share out. */
    threads: number;
    /** For prompts; 0: as many as `threads`. */
    threadsBatch: number;
    batchSize: number;
    ubatchSize: number;
    /** By ggml's names of types. */
    cacheTypeK: string;
    cacheTypeV: string;
    draftCacheTypeK: string;
    draftCacheTypeV: string;
    flashAttention: 'auto' | 'on' | 'off';
    /** 0, or -1 for YaRN's factors: as the model's file says. */
    rope: {
      scaling: '' | 'none' | 'linear' | 'yarn';
      frequencyBase: number;
      frequencyScale: number;
      yarnOriginalContext: number;
      yarnExtrapolation: number;
      yarnAttention: number;
      yarnBetaSlow: number;
      yarnBetaFast: number;
    };
    /** Empty: not at all. Decided by the first engine of a process that says something. */
    numa: '' | 'distribute' | 'isolate' | 'numactl';
    targetStepMs: number;
    cacheRamBytes: number;
    /** For the KV cells of all sequences together; 0: for as many as the slots have. */
    kvBudgetBytes: number;
    /** Of the files of conversations, those of all models together; 0: none are written. */
    cacheDiskBytes: number;
    /** Where those are; each model has a folder of its own in it. */
    cacheFolder: string;
    /** The vision projector's GGUF file; empty: none. */
    mmprojPath: string;
    imageCacheBytes: number;
    deterministic: boolean;
    /** Tokens to draft at a time; 0: none. */
    draftMax: number;
    /** False: none where a GPU is used. */
    draftsOnGpus: boolean;
    draftMin: number;
    draftPMin: number;
    /** Empty: drafts come from the text so far alone. */
    draftModelPath: string;
    /** The model's own MTP layer drafts. */
    draftMtp: boolean;
    /** Absent: as the model's file says, or else the mean. */
    pooling?: NativePooling;
    /** Instead of the model's own; empty: that one. */
    chatTemplate: string;
    /** Files of adapters, which jobs name by their place in this list. */
    adapters: readonly string[];
  };
}

/** What is to prepare requests, with the vocabulary of a model. */
export interface OpenPreparerRequest {
  path: string;
  prepareTimeoutMs: number;
  /** As in `NativeOffload`. */
  metadata: readonly string[];
  /** Instead of the model's own; empty: that one. */
  chatTemplate: string;
  /** The process ends with this code when something that it prepares does not end in time, and cannot be ended. */
  stuckExitCode: number;
}

/** Where a model is to go. */
export interface NativeOffload {
  /** ggml's names; `null`: every GPU of the modules; empty: none. */
  devices: readonly string[] | null;
  /** The last layers, the output counted as one; `null`: all. */
  gpuLayers: number | null;
  splitMode: 'none' | 'layer' | 'row';
  /** Index among the devices; `null`: the first. */
  mainGpu: number | null;
  /** Each device's share; empty: by its free memory. */
  tensorSplit: readonly number[];
  /** Weights, by a regular expression for their names, that go elsewhere than the rest of their layer; '': main memory. */
  overrides: readonly { tensors: string; device: string }[];
  mmap: boolean;
  mlock: boolean;
  repack: boolean;
  /** `key=type:value`, in place of what the model's file says. */
  metadata: readonly string[];
}
