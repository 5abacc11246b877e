/** The options of the native addon. */
import type { LOAD_OPTIONS } from '../options/load-option-table.js';
import type { CompleteOptionsOf } from '../options/option-row.js';

export interface OpenRequest {
  /** Absolute paths of ggml modules: GPU modules, then one for the CPU. The first engine of a process decides. */
  modules: readonly string[];
  /** Writes llama.cpp's log to standard error. The first engine of a process decides. */
  verbose: boolean;
  path: string;
  prepareTimeoutMs: number;
  options: NativeOptions;
}

type CompleteLoadOptions = CompleteOptionsOf<typeof LOAD_OPTIONS>;

/**
 * The options of `loadModel` under the same names, and values derived from them. Native code reads only the ones it
 * needs. Absent options keep the defaults of the C++ structs.
 */
export interface NativeOptions extends Omit<CompleteLoadOptions, 'draftMax' | 'chatTemplate' | 'cacheFolder'> {
  offload: NativeOffload;
  /** In tokens; 0: the trained length, at most 4096. */
  contextLength: number;
  /** The same for inputs that are embedded or ranked. */
  embeddingContextLength: number;
  /** For the KV cells of all sequences; 0: as many as the slots have. */
  kvBudgetBytes: number;
  /** In tokens; 0: no drafts. */
  draftMax: number;
  /** False disables drafts where a GPU is used. */
  draftsOnGpus: boolean;
  /** Empty: the model's own. */
  chatTemplate: string;
  /** Absolute. Each model has a subfolder. */
  cacheFolder: string;
  /** Empty: none. */
  mmprojPath: string;
  /** Files of adapters; jobs refer to them by index. */
  adapters: readonly string[];
}

/** A vocabulary to prepare requests with. */
export interface OpenPreparerRequest {
  path: string;
  prepareTimeoutMs: number;
  /** As `overrideKv` of the load options. */
  metadata: readonly string[];
  /** Empty: the model's own. */
  chatTemplate: string;
  /** The process exits with this code when a preparation neither ends in time nor can be cancelled. */
  stuckExitCode: number;
}

/** Placement of a model's weights. */
export interface NativeOffload {
  /** ggml's names; `null`: every GPU of the modules; empty: none. */
  devices: readonly string[] | null;
  /** The last layers, the output layer included; `null`: all. */
  gpuLayers: number | null;
  /** Of the draft model; `null`: those of the model. */
  draftDevices: readonly string[] | null;
  /** Of the draft model; `null`: all. */
  draftGpuLayers: number | null;
  splitMode: 'none' | 'layer' | 'row';
  /** Index among the devices; `null`: the first. */
  mainGpu: number | null;
  /** Each device's share; empty: by free memory. */
  tensorSplit: readonly number[];
  /** Weights placed elsewhere than their layer, by a regular expression for their names; '' is main memory. */
  overrides: readonly { tensors: string; device: string }[];
}
