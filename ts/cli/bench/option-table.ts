/** Options of `chasqui bench`, named as in llama-bench if it has the same option. */
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { inGroup, integer, type OptionsOf, off, text, type UngroupedRows } from '../../options/option-row.js';

const GROUP = 'Measuring';

export const BENCH_OPTIONS = inGroup(GROUP, {
  model: {
    ...text('path'),
    short: '-m',
    help: 'GGUF file, or a model that chasqui ls lists',
    otherwise: 'the built-in demo model',
  },
  streams: {
    type: 'names',
    each: { pattern: /^([1-9]\d?|1\d\d|2[0-4]\d|25[0-6])$/, says: 'whole numbers from 1 to 256' },
    placeholder: 'list',
    help: 'Numbers of concurrent completions, each with its own prompt',
    otherwise: '1,4,16,64',
  },
  depths: {
    type: 'names',
    each: { pattern: /^\d{1,7}$/, says: 'whole numbers of tokens' },
    flag: '--n-depth',
    short: '-d',
    placeholder: 'list',
    help: 'Numbers of context tokens before the measured ones',
    otherwise: '0,2048',
  },
  promptTokens: {
    ...integer(1, 2 ** 20),
    unit: 'tokens',
    default: 512,
    flag: '--n-prompt',
    short: '-p',
    help: 'Prompt length',
  },
  newTokens: {
    ...integer(1, 2 ** 20),
    unit: 'tokens',
    default: 128,
    flag: '--n-gen',
    short: '-n',
    help: 'Completion length',
  },
  repetitions: {
    ...integer(1, 1000),
    default: 5,
    short: '-r',
    help: 'Maximum number of runs per figure',
  },
  maxTimeMs: {
    ...integer(1),
    unit: 'ms',
    flagUnit: { unit: 's', size: 1000 },
    default: 60_000,
    help: 'Time limit per figure; figures that are expected to take longer are skipped',
  },
  json: { ...off, variable: 'CHASQUI_BENCH_JSON', help: 'Print JSON with the field names of llama-bench' },
} as const satisfies UngroupedRows);

export type BenchOptions = OptionsOf<typeof BENCH_OPTIONS>;

/** Load options that the benchmark sets itself or does not use. */
const WITHOUT = [
  'alias',
  'mmproj',
  'lora',
  'chatTemplate',
  'pooling',
  'contextSize',
  'parallel',
  'maxQueue',
  'prepareTimeoutMs',
  'kvBudgetMiB',
  'cacheRamMiB',
  'imageCacheMiB',
  'imageHosts',
  'deterministic',
  'draftMax',
  'draftModel',
  'specType',
  'draftMin',
  'draftPMin',
] as const satisfies readonly (keyof typeof LOAD_OPTIONS)[];

type Measured = Omit<typeof LOAD_OPTIONS, (typeof WITHOUT)[number]>;

/** Load options that affect how a model is computed. */
export const COMPUTING_OPTIONS = Object.fromEntries(
  Object.entries(LOAD_OPTIONS).filter(([name]) => !(WITHOUT as readonly string[]).includes(name)),
) as Measured;
