/** The options of `loadModel` that say how a model's file is read, and how its context computes. */
import { MAX_COUNT, type OptionRows } from './option-row.js';

const CELLS = 'KV cells and attention';
const DRAFTS = 'Drafts (speculative decoding)';
const READING = 'Reading the model';
const ROPE = 'Positions (RoPE, YaRN)';
const AS_THE_FILE = "what the model's file says";
const MAX_FACTOR = 1e9;

/** llama.cpp's types for KV cells. */
export const CELL_TYPES = ['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', 'iq4_nl'] as const;

const cellType = { type: 'choice', choices: CELL_TYPES, default: 'f16', placeholder: 'type', group: CELLS } as const;
const factor = { type: 'number', min: 0, max: MAX_FACTOR, group: ROPE, otherwise: AS_THE_FILE } as const;

export const CONTEXT_OPTIONS = {
  cacheTypeK: {
    ...cellType,
    flag: '--cache-type-k',
    aliases: ['-ctk'],
    help: 'how keys are stored; q8_0 takes about half the memory of f16',
  },
  cacheTypeV: {
    ...cellType,
    flag: '--cache-type-v',
    aliases: ['-ctv'],
    help: 'how values are stored; other types than f32, f16 and bf16 need flash attention',
  },
  draftCacheTypeK: {
    ...cellType,
    flag: '--cache-type-k-draft',
    aliases: ['-ctkd', '--spec-draft-type-k'],
    help: 'how keys of `draftModel` or `specType` are stored',
  },
  draftCacheTypeV: {
    ...cellType,
    flag: '--cache-type-v-draft',
    aliases: ['-ctvd', '--spec-draft-type-v'],
    help: 'how values of `draftModel` or `specType` are stored',
  },
  specType: {
    type: 'choice',
    choices: ['none', 'draft-mtp'],
    flag: '--spec-type',
    placeholder: 'kind',
    group: DRAFTS,
    excludes: ['draftModel'],
    help:
      "draft-mtp: the model's own layer for multi-token prediction drafts; for Qwen3.5 and 3.6, GLM-4.5 and Hy3 whose " +
      'files have one',
    otherwise: 'none',
  },
  flashAttention: {
    type: 'choice',
    choices: ['auto', 'on', 'off'],
    default: 'auto',
    flag: '--flash-attn',
    aliases: ['-fa'],
    placeholder: 'when',
    group: CELLS,
    help: 'whether attention is computed in one pass; auto: where the devices can',
  },
  ropeScaling: {
    type: 'choice',
    choices: ['none', 'linear', 'yarn'],
    flag: '--rope-scaling',
    placeholder: 'kind',
    group: ROPE,
    help: 'how positions beyond the trained ones are scaled',
    otherwise: AS_THE_FILE,
  },
  ropeScale: {
    type: 'number',
    min: 1e-6,
    max: 1e6,
    excludes: ['ropeFreqScale'],
    flag: '--rope-scale',
    group: ROPE,
    help: 'how many times as long as trained the context is',
    otherwise: AS_THE_FILE,
  },
  ropeFreqBase: {
    ...factor,
    flag: '--rope-freq-base',
    help: 'the base of the frequencies; 0: as the file says',
  },
  ropeFreqScale: {
    ...factor,
    excludes: ['ropeScale'],
    flag: '--rope-freq-scale',
    help: 'what positions are multiplied by, 1 / `ropeScale`; 0: as the file says',
  },
  yarnOrigCtx: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    unit: 'tokens',
    flag: '--yarn-orig-ctx',
    placeholder: 'n',
    group: ROPE,
    help: 'the context that the model was trained for before it was made longer; 0: as the file says',
    otherwise: AS_THE_FILE,
  },
  yarnExtFactor: {
    ...factor,
    min: -1,
    flag: '--yarn-ext-factor',
    help: 'how much is extrapolated; 0: nothing',
  },
  yarnAttnFactor: {
    ...factor,
    min: -1,
    flag: '--yarn-attn-factor',
    help: 'how attention is scaled',
  },
  yarnBetaSlow: {
    ...factor,
    min: -1,
    flag: '--yarn-beta-slow',
    help: 'from how many turns on frequencies are kept',
  },
  yarnBetaFast: {
    ...factor,
    min: -1,
    flag: '--yarn-beta-fast',
    help: 'up to how many turns they are interpolated',
  },
  mmap: {
    type: 'boolean',
    default: true,
    flag: '--mmap',
    group: READING,
    help: "map the model's file into memory; without that it is read, which takes longer",
    otherwise: 'on, where the devices allow it',
  },
  mlock: {
    type: 'boolean',
    default: false,
    flag: '--mlock',
    group: READING,
    help: 'keep the model in memory: it is not swapped out',
  },
  repack: {
    type: 'boolean',
    default: true,
    flag: '--repack',
    noAliases: ['-nr'],
    group: READING,
    help: 'store weights anew as the CPU computes fastest with them',
    otherwise: 'on',
  },
  numa: {
    type: 'choice',
    choices: ['distribute', 'isolate', 'numactl'],
    flag: '--numa',
    placeholder: 'how',
    group: READING,
    help: 'how threads are spread over the memories of a machine that has several; the first model of a process decides',
    otherwise: 'not at all',
  },
  overrideKv: {
    type: 'texts',
    max: 64,
    maxLength: 300,
    // llama.cpp has room for 127 bytes of a key, and of a text.
    pattern: /^[\w.-]{1,127}=(int:-?\d{1,18}|float:-?\d*\.?\d+(e-?\d{1,3})?|bool:(true|false)|str:[\x20-\x7e]{1,127})$/,
    says: 'key=int:1, key=float:0.5, key=bool:true or key=str:text',
    flag: '--override-kv',
    placeholder: 'key=type:value',
    group: READING,
    help: "a value that goes before the one in the model's file; may be given several times",
    otherwise: 'none',
  },
  cpuMoe: {
    type: 'boolean',
    default: false,
    flag: '--cpu-moe',
    aliases: ['-cmoe'],
    group: 'GPUs',
    help: 'keep the weights of all experts in main memory',
  },
  cpuMoeLayers: {
    type: 'integer',
    min: 0,
    max: 1000,
    default: 0,
    flag: '--n-cpu-moe',
    aliases: ['-ncmoe'],
    placeholder: 'n',
    group: 'GPUs',
    help: 'keep the weights of the experts of the first n layers in main memory',
  },
  overrideTensor: {
    type: 'texts',
    max: 256,
    maxLength: 300,
    pattern: /^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/,
    says: 'pattern=device, separated by commas',
    flag: '--override-tensor',
    aliases: ['-ot'],
    placeholder: 'pattern=device',
    group: 'GPUs',
    help:
      'where weights go whose names match a regular expression, CPU being main memory: exps=CPU; may be given several ' +
      'times',
    otherwise: 'where their layers go',
  },
} as const satisfies OptionRows;
