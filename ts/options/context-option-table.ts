/** Options of `loadModel` about the context and drafts: KV cache, attention, RoPE, speculative decoding. */
import { choice, inGroup, integer, number, type OptionRows, type UngroupedRows } from './option-row.js';

const CACHE = 'KV cache and attention';
const DRAFTS = 'Drafts (speculative decoding)';
const ROPE = 'RoPE and YaRN';
const BY_MODEL = 'declared by the model';

/** llama.cpp's types of KV cells. */
export const CELL_TYPES = ['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', 'iq4_nl'] as const;

export const DRAFT_MAX = 32;
/** The same with a draft model or an MTP layer, which cost time per draft. llama-server has the same values. */
export const DRAFT_MAX_WITH_MODEL = 8;
export const DRAFT_MAX_WITH_MTP = 3;

/** Native code stores the length of a draft in 16 bits. */
const MAX_DRAFT = 65_535;

const cellType = { type: 'choice', choices: CELL_TYPES, default: 'f16', placeholder: 'type' } as const;
const factor = { type: 'number', min: 0, max: 1e9, otherwise: BY_MODEL } as const;
const yarnFactor = { ...factor, min: -1 } as const;

const DRAFT_OPTIONS = inGroup(DRAFTS, {
  draftMax: {
    ...integer(0, MAX_DRAFT),
    unit: 'tokens',
    aliases: ['--spec-draft-n-max'],
    help:
      'Maximum draft length while at most two completions are running; drafts come from the text or the grammar, up to ' +
      '64 tokens and fewer if they do not pay off, or from `draftModel` or `specType`; seeded requests use text drafts only if these ' +
      'cannot change rounding; 0 disables drafts',
    otherwise: `${DRAFT_MAX} without a GPU (greedy requests: only if drafts cannot change rounding), ${DRAFT_MAX_WITH_MODEL} with \`draftModel\`, ${DRAFT_MAX_WITH_MTP} with draft-mtp`,
  },
  draftModel: {
    type: 'path',
    aliases: ['-md', '--model-draft', '--spec-draft-model'],
    help: 'GGUF file of a small draft model with the same vocabulary',
    otherwise: 'none',
  },
  draftDevice: {
    type: 'names',
    flag: '--spec-draft-device',
    aliases: ['-devd', '--device-draft'],
    help: 'GPUs for `draftModel`, comma-separated; none uses the CPU alone',
    otherwise: '`device`',
  },
  draftGpuLayers: {
    ...integer(0),
    words: ['auto', 'all'],
    default: 'all',
    flag: '--spec-draft-ngl',
    aliases: ['-ngld', '--gpu-layers-draft', '--n-gpu-layers-draft'],
    help: 'Number of layers of `draftModel` on GPUs; auto means all',
  },
  draftMin: {
    ...integer(0, MAX_DRAFT),
    unit: 'tokens',
    default: 0,
    aliases: ['--spec-draft-n-min'],
    help:
      'Discard shorter drafts of `draftModel` or `specType`; without either, draft at least this many tokens wherever ' +
      'the text repeats itself',
  },
  draftPMin: {
    ...number(0, 1),
    default: 0,
    aliases: ['--spec-draft-p-min'],
    placeholder: 'p',
    help: 'End a draft of `draftModel` or `specType` at a token less probable than this',
  },
  specType: {
    ...choice('none', 'draft-simple', 'draft-mtp'),
    placeholder: 'type',
    help:
      "draft-mtp drafts with the model's own multi-token prediction layer, in files of Qwen3.5 and 3.6, GLM-4.5 and Hy3 that " +
      'contain one; draft-simple needs `draftModel`',
    otherwise: 'none',
  },
} as const satisfies UngroupedRows);

const CACHE_OPTIONS = inGroup(CACHE, {
  cacheTypeK: {
    ...cellType,
    aliases: ['-ctk'],
    help: 'Data type of cached keys; q8_0 needs about half the memory of f16',
  },
  cacheTypeV: {
    ...cellType,
    aliases: ['-ctv'],
    help: 'Data type of cached values; types other than f32, f16 and bf16 require flash attention',
  },
  draftCacheTypeK: {
    ...cellType,
    flag: '--cache-type-k-draft',
    aliases: ['-ctkd', '--spec-draft-type-k'],
    help: 'Data type of cached keys of `draftModel` or `specType`',
  },
  draftCacheTypeV: {
    ...cellType,
    flag: '--cache-type-v-draft',
    aliases: ['-ctvd', '--spec-draft-type-v'],
    help: 'Data type of cached values of `draftModel` or `specType`',
  },
  flashAttention: {
    ...choice('auto', 'on', 'off'),
    default: 'auto',
    flag: '--flash-attn',
    aliases: ['-fa'],
    placeholder: 'mode',
    help: 'Flash attention; auto uses it on devices that support it',
  },
} as const satisfies UngroupedRows);

const ROPE_OPTIONS = inGroup(ROPE, {
  ropeScaling: {
    ...choice('none', 'linear', 'yarn'),
    placeholder: 'method',
    help: 'RoPE scaling method beyond the trained context',
    otherwise: BY_MODEL,
  },
  ropeScale: {
    ...number(1e-6, 1e6),
    excludes: ['ropeFreqScale'],
    help: 'RoPE context scaling factor relative to the trained context',
    otherwise: BY_MODEL,
  },
  ropeFreqBase: { ...factor, help: 'RoPE base frequency; 0 uses the value of the model' },
  ropeFreqScale: {
    ...factor,
    excludes: ['ropeScale'],
    help: 'RoPE frequency scaling factor, 1 / `ropeScale`; 0 uses the value of the model',
  },
  yarnOrigCtx: {
    ...integer(0),
    unit: 'tokens',
    help: 'YaRN: trained context of the original model; 0 uses the value of the model',
    otherwise: BY_MODEL,
  },
  yarnExtFactor: { ...yarnFactor, help: 'YaRN: extrapolation factor; 0 is full interpolation' },
  yarnAttnFactor: { ...yarnFactor, help: 'YaRN: attention scaling factor' },
  yarnBetaSlow: { ...yarnFactor, help: 'YaRN: high correction dimension, alpha' },
  yarnBetaFast: { ...yarnFactor, help: 'YaRN: low correction dimension, beta' },
} as const satisfies UngroupedRows);

export const CONTEXT_OPTIONS = { ...CACHE_OPTIONS, ...ROPE_OPTIONS, ...DRAFT_OPTIONS } as const satisfies OptionRows;
