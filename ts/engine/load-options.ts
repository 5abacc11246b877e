/** The options of `loadModel`, which are data, and apart from them what it calls and what ends it. */
import type { ImageHosts } from '../images/public-address.js';
import type { Backend } from '../native/module-files.js';
import type { OffloadOptions } from './offload.js';

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
  /**
   * How long all that must be done before a request can be computed may take: rendering, tokenizing, compiling grammars.
   * What takes longer is ended with `prepare_timeout`. In milliseconds; default 10,000.
   */
  prepareTimeoutMs?: number;
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
}

/** What cannot be sent to another process as data. */
export interface LoadHooks {
  /** Called with the fraction loaded, 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /** Aborts the load. */
  signal?: AbortSignal | undefined;
}

/** Users of the library may give both in one object. What `hooks` has goes before what `given` has. */
export function splitHooks(
  { onProgress, signal, ...options }: LoadOptions & LoadHooks,
  hooks: LoadHooks = {},
): { options: LoadOptions; hooks: LoadHooks } {
  return { options, hooks: { onProgress: hooks.onProgress ?? onProgress, signal: hooks.signal ?? signal } };
}
