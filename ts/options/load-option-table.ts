/**
 * The options of `loadModel`, each described once. The type `LoadOptions`, the checks and defaults, the flags of
 * `chasqui serve`, their environment variables, the help, the form of the desktop app and the tables in ts/cli/README.md
 * derive from these rows. `npx tsx test/house/tables.ts` rewrites the README.
 *
 * Native code receives every option under its name here (native/napi/from-js.cpp).
 */
import { CONTEXT_OPTIONS } from './context-option-table.js';
import { MODEL_OPTIONS } from './model-option-table.js';
import {
  choice,
  inGroup,
  integer,
  MAX_COUNT,
  number,
  type OptionRows,
  off,
  on,
  text,
  type UngroupedRows,
} from './option-row.js';
import { SAMPLING_OPTIONS } from './sampling-table.js';

/** GPU backends, best first. */
export const GPU_BACKENDS = ['cuda', 'metal', 'vulkan'] as const;
export const BACKENDS = [...GPU_BACKENDS, 'cpu'] as const;

const COMPUTE = 'Compute';
const GPUS = 'GPUs';
/** ggml's limit (`GGML_MAX_N_THREADS`). */
const MAX_THREADS = 512;
const MAX_BATCH = 2 ** 20;

const COMPUTE_OPTIONS = inGroup(COMPUTE, {
  contextSize: {
    ...integer(16),
    unit: 'tokens',
    flag: '--ctx-size',
    short: '-c',
    aliases: ['--context-length', '--max-model-len'],
    unset: '0',
    help: 'Context size of one conversation, completion included; rounded up to a multiple of 256',
    otherwise: 'the trained context, limited to half of the free memory',
  },
  fit: {
    ...choice('on', 'off'),
    default: 'on',
    aliases: ['-fit'],
    placeholder: 'mode',
    help: 'Without `contextSize`, use the largest context that fits; off uses `fitCtx`',
    otherwise: 'on for a single model, off for several, which share the memory',
  },
  fitCtx: {
    ...integer(256),
    unit: 'tokens',
    default: 4096,
    aliases: ['-fitc'],
    help: 'Minimum context that `fit` chooses, unless the trained context is smaller',
  },
  parallel: {
    // llama.cpp's limit (`LLAMA_MAX_SEQ`).
    ...integer(1, 256),
    default: 4,
    short: '-j',
    aliases: ['-np', '--max-num-seqs'],
    help: 'Number of slots: completions computed at the same time, each with a context of `contextSize`',
  },
  /** The first model of a process decides. The library also reads CHASQUI_BACKEND. */
  backend: {
    ...choice('auto', ...BACKENDS),
    placeholder: 'name',
    help: 'Compute backend; auto chooses the best one that passes its self-test, see chasqui doctor',
    otherwise: 'auto',
  },
  threads: {
    ...integer(1, MAX_THREADS),
    short: '-t',
    help: 'CPU threads for decoding',
    otherwise: 'one per physical core, fewer for very small models',
  },
  threadsBatch: {
    ...integer(1, MAX_THREADS),
    aliases: ['-tb'],
    help: 'CPU threads for prefill',
    otherwise: 'the same as `threads`, or one per physical core',
  },
  batchSize: {
    ...integer(1, MAX_BATCH),
    unit: 'tokens',
    default: 2048,
    short: '-b',
    help: 'Maximum tokens per step',
  },
  ubatchSize: {
    ...integer(1, MAX_BATCH),
    unit: 'tokens',
    default: 512,
    aliases: ['-ub'],
    help: 'Physical batch size, at most `batchSize`',
  },
  maxQueue: {
    ...integer(0),
    default: 256,
    help: 'Maximum number of waiting requests; a server replies 429 to further ones',
  },
  targetStepMs: {
    ...integer(1),
    unit: 'ms',
    default: 100,
    flag: '--target-step-ms',
    help: 'Target duration of a step while completions are running; prompts are split to meet it',
  },
  prepareTimeoutMs: {
    // Native code counts milliseconds in 32 bits.
    ...integer(1, 1e9),
    unit: 'ms',
    flagUnit: { unit: 's', size: 1000 },
    default: 10_000,
    help: 'Time limit for preparing the template, tokens and grammar of one request',
  },
  /** Only a separate preparation process has this limit. */
  prepareMemoryMiB: {
    ...integer(64),
    unit: 'MiB',
    default: 1024,
    help: 'Memory limit of the preparation process, which is restarted beyond it',
  },
  kvBudgetMiB: {
    ...number(1, MAX_COUNT),
    unit: 'MiB',
    help:
      'Memory for the KV cells of all completions and cached prefixes; completions beyond it wait or are preempted by ' +
      'earlier ones',
    otherwise: '`parallel` × `contextSize`; without `contextSize`, at most half of the free memory',
  },
  cacheRamMiB: {
    ...number(0, MAX_COUNT),
    unit: 'MiB',
    default: 1024,
    aliases: ['-cram'],
    help: 'Main memory for the cached state of evicted conversations; 0 keeps none',
  },
  cacheDiskMiB: {
    ...number(0, MAX_COUNT),
    unit: 'MiB',
    default: 0,
    help:
      'Disk space, shared by all models, for the state of evicted conversations and of those cached at shutdown; ' +
      'requires `cacheRamMiB`; 0 keeps none',
  },
  cacheFolder: {
    type: 'path',
    help: 'Folder for `cacheDiskMiB`; its files reveal conversations to their readers',
    otherwise: 'cache in the data folder of a server, or in ~/.chasqui',
  },
  imageCacheMiB: {
    ...integer(0),
    unit: 'MiB',
    default: 256,
    aliases: ['--image-cache-mb'],
    help: 'Main memory for the embeddings of encoded images and audio',
  },
  /** Applies to `generate`. A server has its own setting. */
  imageHosts: {
    ...choice('public', 'loopback', 'any'),
    default: 'public',
    flag: null,
    help: 'Allowed hosts of images and audio',
  },
  /**
   * Kernels round differently for other batch shapes: two tokens of nearly equal probability may swap when other requests
   * are served at the same time or a prefix is cached. This excludes it, without batching, caching or drafts.
   */
  deterministic: {
    ...off,
    help: 'Compute each completion alone and without caches: equal requests get bit-identical results; slow',
    otherwise: 'off',
  },
  verbose: { ...off, short: '-v', help: "Write llama.cpp's log to standard error; chat replies show prompts" },
} as const satisfies UngroupedRows);

const GPU_OPTIONS = inGroup(GPUS, {
  device: {
    type: 'names',
    aliases: ['-dev'],
    help: 'GPUs to use, comma-separated, see chasqui doctor; none uses the CPU alone',
    otherwise: 'all of the backend',
  },
  gpuLayers: {
    ...integer(0),
    words: ['auto', 'all'],
    default: 'auto',
    aliases: ['-ngl', '--n-gpu-layers'],
    help: '-ngl: number of layers on GPUs, output layer included; auto offloads as many as fit into their free memory',
  },
  splitMode: {
    ...choice('none', 'layer', 'row'),
    default: 'layer',
    aliases: ['-sm'],
    placeholder: 'mode',
    help: 'How to split the model across GPUs: by layer, by row (CUDA), or none, which uses `mainGpu` alone',
  },
  mainGpu: {
    ...integer(0),
    aliases: ['-mg'],
    placeholder: 'index',
    help: 'GPU for `splitMode` none: its index in `device`',
    otherwise: '0',
  },
  tensorSplit: {
    type: 'shares',
    aliases: ['-ts'],
    help: 'Proportion of the model on each GPU, such as 3,1',
    otherwise: 'by free memory',
  },
  fitTargetMiB: {
    ...integer(0),
    unit: 'MiB',
    default: 1024,
    aliases: ['-fitt'],
    help: 'Memory to leave free on each GPU with `gpuLayers` auto',
  },
  cpuMoe: { ...off, aliases: ['-cmoe'], help: 'Keep all expert weights in main memory' },
  cpuMoeLayers: {
    ...integer(0, 1000),
    default: 0,
    flag: '--n-cpu-moe',
    aliases: ['-ncmoe'],
    help: 'Keep the expert weights of the first n layers in main memory',
  },
  overrideTensor: {
    type: 'texts',
    max: 256,
    maxLength: 300,
    pattern: /^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/,
    says: 'pattern=device, separated by commas',
    aliases: ['-ot'],
    placeholder: 'pattern=device',
    help: 'Place weights on a device by a regular expression for their names, such as exps=CPU; repeatable',
    otherwise: 'with their layers',
  },
  kvOffload: {
    ...on,
    aliases: ['-kvo'],
    noAliases: ['-nkvo'],
    help: 'Keep KV cells on the GPU of their layer; without it, in main memory',
    otherwise: 'on',
  },
  opOffload: { ...on, help: 'Compute large batches on the GPU for layers in main memory', otherwise: 'on' },
  mmprojOffload: { ...on, help: 'Run the projector on a GPU; without it, on the CPU', otherwise: 'on' },
  mmprojDevice: {
    ...text('device'),
    aliases: ['-mmdev'],
    help: 'GPU for the projector, see chasqui doctor; none runs it on the CPU',
    otherwise: 'the first of `device`',
  },
} as const satisfies UngroupedRows);

export const LOAD_OPTIONS = {
  ...MODEL_OPTIONS,
  ...COMPUTE_OPTIONS,
  ...GPU_OPTIONS,
  ...CONTEXT_OPTIONS,
  ...SAMPLING_OPTIONS,
} as const satisfies OptionRows;
