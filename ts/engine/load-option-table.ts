/**
 * The options of `loadModel`, each said once: the type `LoadOptions`, the checks and defaults of `loadModel`, the flags of
 * `chasqui serve`, its environment variables, its help and the tables in ts/cli/README.md come from these rows.
 *
 * To add an option, add a row, and say in open-request.ts what native code gets of it.
 */
import { BACKENDS } from '../native/module-files.js';
import { CONTEXT_OPTIONS } from './context-option-table.js';
import { MAX_COUNT, type OptionRows } from './option-row.js';
import { REASONING_OPTIONS } from './reasoning-option-table.js';
import { SAMPLING_OPTIONS } from './sampling-option-table.js';
import { TEMPLATE_OPTIONS } from './template-option-table.js';

/** The default of `draftMax`. */
export const DRAFT_MAX = 32;
/** The same where there is a model to draft with, whose drafts take time, or an MTP layer (as llama-server has it). */
export const DRAFT_MAX_WITH_MODEL = 8;
export const DRAFT_MAX_WITH_MTP = 3;

export const LOAD_OPTIONS = {
  alias: {
    type: 'names',
    flag: '--alias',
    short: '-a',
    placeholder: 'names',
    group: 'Model',
    help: "the model's name in requests, and others that it also goes by; separated by commas, or given several times",
    otherwise: "the file's name without .gguf",
  },
  /** `null`: none, whatever lies beside the model. */
  mmproj: {
    type: 'path',
    nullable: true,
    flag: '--mmproj',
    aliases: ['-mm'],
    group: 'Model',
    help: "GGUF file of the model's vision projector; none: take text only",
    otherwise:
      'mmproj-<model>.gguf, <model>-mmproj.gguf, <model>.mmproj.gguf, or the only mmproj*.gguf beside the model where ' +
      'there is no other model',
  },
  lora: {
    type: 'paths',
    flag: '--lora',
    placeholder: '[name=]file[:scale]',
    group: 'Model',
    help: 'GGUF file of a LoRA adapter, which requests choose as the model model:name; may be given several times',
    otherwise: 'none',
  },
  ...TEMPLATE_OPTIONS,
  ...REASONING_OPTIONS,
  pooling: {
    type: 'choice',
    choices: ['mean', 'cls', 'last', 'rank'],
    flag: '--pooling',
    placeholder: 'kind',
    group: 'Model',
    help: "how the vectors of a text's tokens become its embedding; rank: for reranking models whose file does not say so",
    otherwise: "what the model's file says, or else mean",
  },
  contextSize: {
    type: 'integer',
    min: 16,
    max: MAX_COUNT,
    unit: 'tokens',
    flag: '--ctx-size',
    short: '-c',
    placeholder: 'n',
    group: 'Computing',
    help: 'tokens that one conversation can hold, its completion included',
    otherwise: 'what the model was trained for, as far as it fits into half of the free memory',
  },
  fit: {
    type: 'choice',
    choices: ['on', 'off'],
    default: 'on',
    flag: '--fit',
    aliases: ['-fit'],
    placeholder: 'whether',
    group: 'Computing',
    help: 'whether the context is as long as fits where `contextSize` is not given, or `fitCtx`',
    otherwise: 'on for a single model, off for several, which share the memory',
  },
  fitCtx: {
    type: 'integer',
    min: 256,
    max: MAX_COUNT,
    unit: 'tokens',
    default: 4096,
    flag: '--fit-ctx',
    aliases: ['-fitc'],
    placeholder: 'n',
    group: 'Computing',
    help: 'the shortest context that is chosen, unless the model was trained for less',
  },
  parallel: {
    type: 'integer',
    min: 1,
    // llama.cpp has no more sequences.
    max: 256,
    default: 4,
    flag: '--parallel',
    short: '-j',
    aliases: ['-np'],
    group: 'Computing',
    help: 'completions computed at the same time; each can be of `contextSize` tokens',
  },
  /** The first model of a process decides. The library reads CHASQUI_BACKEND as well. */
  backend: {
    type: 'choice',
    choices: ['auto', ...BACKENDS],
    flag: '--backend',
    placeholder: 'name',
    group: 'Computing',
    help: 'what to compute with; auto: the best that passes a trial, see chasqui doctor',
    otherwise: 'auto',
  },
  threads: {
    type: 'integer',
    min: 1,
    // GGML_MAX_N_THREADS.
    max: 512,
    flag: '--threads',
    short: '-t',
    group: 'Computing',
    help: 'threads to compute with',
    otherwise: 'one per physical core, fewer for very small models',
  },
  threadsBatch: {
    type: 'integer',
    min: 1,
    max: 512,
    flag: '--threads-batch',
    aliases: ['-tb'],
    group: 'Computing',
    help: 'threads to compute prompts with',
    otherwise: 'as many as `threads`, or else one per physical core',
  },
  batchSize: {
    type: 'integer',
    min: 1,
    max: 2 ** 20,
    unit: 'tokens',
    default: 2048,
    flag: '--batch-size',
    short: '-b',
    placeholder: 'n',
    group: 'Computing',
    help: 'tokens in one step, at most',
  },
  ubatchSize: {
    type: 'integer',
    min: 1,
    max: 2 ** 20,
    unit: 'tokens',
    default: 512,
    flag: '--ubatch-size',
    aliases: ['-ub'],
    placeholder: 'n',
    group: 'Computing',
    help: 'tokens that are computed in one go, at most `batchSize`',
  },
  maxQueue: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    default: 256,
    flag: '--max-queue',
    group: 'Computing',
    help: 'requests that may wait beside those that run; one more is refused, by a server with status 429',
  },
  targetStepMs: {
    type: 'integer',
    min: 1,
    max: MAX_COUNT,
    unit: 'ms',
    default: 100,
    flag: '--target-step-ms',
    group: 'Computing',
    help: 'how long a step may take while completions are running; prompts are sliced to fit',
  },
  prepareTimeoutMs: {
    type: 'integer',
    min: 1,
    // Native code counts milliseconds in 32 bits.
    max: 1e9,
    unit: 'ms',
    flagUnit: { unit: 's', size: 1000 },
    default: 10_000,
    flag: '--prepare-timeout',
    group: 'Computing',
    help: 'how long rendering, tokenizing and compiling what one request holds may take',
  },
  /** Without a process of its own for preparing there is no such limit. */
  prepareMemoryMiB: {
    type: 'integer',
    min: 64,
    max: MAX_COUNT,
    unit: 'MiB',
    default: 1024,
    flag: '--prepare-memory',
    group: 'Computing',
    help: 'memory that preparing requests may take; beyond it, the process that prepares is replaced',
  },
  kvBudgetMiB: {
    type: 'number',
    min: 1,
    max: MAX_COUNT,
    unit: 'MiB',
    flag: '--kv-budget',
    group: 'Computing',
    help:
      'memory for the KV cells of all completions and cached prefixes together; completions that have no room wait, or ' +
      'give up their place to earlier ones',
    otherwise:
      'what `parallel` × `contextSize` needs; where `contextSize` is not given, no more than half of the free memory',
  },
  cacheRamMiB: {
    type: 'number',
    min: 0,
    max: MAX_COUNT,
    unit: 'MiB',
    default: 1024,
    flag: '--cache-ram',
    aliases: ['-cram'],
    group: 'Computing',
    help: 'main memory for conversations that had to give up their place; 0 keeps none',
  },
  cacheDiskMiB: {
    type: 'number',
    min: 0,
    max: MAX_COUNT,
    unit: 'MiB',
    default: 0,
    flag: '--cache-disk',
    group: 'Computing',
    help:
      'room on disk, for all models together, for conversations that had to give up their place or that were there when ' +
      'the server ended; they come back by way of `cacheRamMiB`; 0 keeps none',
  },
  cacheFolder: {
    type: 'path',
    flag: '--cache-folder',
    group: 'Computing',
    help: 'where `cacheDiskMiB` keeps them; whoever can read it can read the conversations',
    otherwise: 'cache in the data folder of a server, and else in ~/.chasqui',
  },
  imageCacheMiB: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    unit: 'MiB',
    default: 256,
    flag: '--image-cache',
    aliases: ['--image-cache-mb'],
    group: 'Computing',
    help: 'main memory for encoded images, so that none is encoded twice',
  },
  /** Where `generate` fetches images from that messages give by address. A server has a setting of its own. */
  imageHosts: {
    type: 'choice',
    choices: ['public', 'loopback', 'any'],
    default: 'public',
    flag: null,
    group: 'Computing',
    help: 'where images may be fetched from',
  },
  /**
   * Kernels round differently for other batch shapes, so that two tokens of nearly equal probability may change places
   * when others are served at the same time or a prefix is cached. This excludes it, at the price of batching, caching
   * and drafts.
   */
  deterministic: {
    type: 'boolean',
    default: false,
    flag: '--deterministic',
    group: 'Computing',
    help:
      'compute every completion alone and from its first token, so that equal requests get equal answers to the last ' +
      'bit of rounding; slow',
    otherwise: 'share steps and prefixes',
  },
  verbose: {
    type: 'boolean',
    default: false,
    flag: '--verbose',
    group: 'Computing',
    help: "write llama.cpp's log to standard error",
  },
  device: {
    type: 'names',
    flag: '--device',
    aliases: ['-dev'],
    group: 'GPUs',
    help: 'GPUs to compute on, as chasqui doctor names them, separated by commas; none: the CPU alone',
    otherwise: 'all of the backend',
  },
  gpuLayers: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    words: ['auto', 'all'],
    default: 'auto',
    flag: '--gpu-layers',
    aliases: ['-ngl', '--n-gpu-layers'],
    group: 'GPUs',
    help:
      '-ngl for short: how many of the last layers to put on GPUs, the output counted as one, or all; auto: as many as ' +
      'fit into their free memory',
  },
  splitMode: {
    type: 'choice',
    choices: ['none', 'layer', 'row'],
    default: 'layer',
    flag: '--split-mode',
    aliases: ['-sm'],
    placeholder: 'mode',
    group: 'GPUs',
    help: 'how several GPUs share: whole layers, a part of each row (CUDA), or none: `mainGpu` does everything',
  },
  mainGpu: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    flag: '--main-gpu',
    aliases: ['-mg'],
    placeholder: 'index',
    group: 'GPUs',
    help: 'the GPU to use where `splitMode` is none, counted from 0 among those of `device`',
    otherwise: '0',
  },
  tensorSplit: {
    type: 'shares',
    flag: '--tensor-split',
    aliases: ['-ts'],
    group: 'GPUs',
    help: "each GPU's share, such as 3,1",
    otherwise: 'by free memory',
  },
  fitTargetMiB: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    unit: 'MiB',
    default: 1024,
    flag: '--fit-target',
    aliases: ['-fitt'],
    group: 'GPUs',
    help: 'memory to leave free on each GPU where `gpuLayers` is auto',
  },
  draftMax: {
    type: 'integer',
    min: 0,
    // Native code counts them in 16 bits.
    max: 65_535,
    unit: 'tokens',
    flag: '--draft-max',
    placeholder: 'n',
    group: 'Drafts (speculative decoding)',
    help:
      'tokens at most to draft and to check in one step, while one or two completions are running: from the text so ' +
      'far, at most 64 and as many as have been paying on this machine, or by `draftModel` or `specType`; where drafts ' +
      'could change how the model rounds, none from the text for requests with a seed; 0: none',
    otherwise: `${DRAFT_MAX} where no GPU is used, and for requests with a temperature of 0 only where drafts cannot change how the model rounds; ${DRAFT_MAX_WITH_MODEL} with \`draftModel\`, ${DRAFT_MAX_WITH_MTP} with \`specType\``,
  },
  draftModel: {
    type: 'path',
    flag: '--draft-model',
    aliases: ['-md', '--model-draft', '--spec-draft-model'],
    group: 'Drafts (speculative decoding)',
    excludes: ['specType'],
    help: 'GGUF file of a small model with the same vocabulary, to draft with',
    otherwise: 'none',
  },
  draftMin: {
    type: 'integer',
    min: 0,
    max: 65_535,
    unit: 'tokens',
    default: 0,
    flag: '--draft-min',
    placeholder: 'n',
    group: 'Drafts (speculative decoding)',
    help:
      'drafts of `draftModel` or `specType` that are shorter are not checked; without these, so many tokens are drafted ' +
      'wherever the text repeats itself, whether that pays or not',
  },
  draftPMin: {
    type: 'number',
    min: 0,
    max: 1,
    default: 0,
    flag: '--draft-p-min',
    placeholder: 'p',
    group: 'Drafts (speculative decoding)',
    help: '`draftModel` and `specType` end a draft at a token less probable than this',
  },
  ...CONTEXT_OPTIONS,
  ...SAMPLING_OPTIONS,
} as const satisfies OptionRows;
