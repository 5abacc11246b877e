/** Options of `chasqui chat`, and of `chasqui run` with a model. */
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { inGroup, integer, type OptionRows, off, type UngroupedRows } from '../../options/option-row.js';
import { DATA_DIR_OPTION, JSON_OPTION } from '../cloud/option-table.js';

export const CHAT_OPTIONS = inGroup('Chat', {
  system: { type: 'string', help: 'System prompt', otherwise: 'none' },
  maxTokens: {
    ...integer(1),
    unit: 'tokens',
    help: 'Limit for each answer',
    otherwise: 'the rest of the context',
  },
  statistics: { ...off, flag: '--verbose', help: 'Print tokens per second after each answer' },
} as const satisfies UngroupedRows);

const { verbose: _, alias: _alias, imageHosts: _hosts, ...LOADING } = LOAD_OPTIONS;

/** All options of loading, which the environment can set. */
export const CHAT_LOAD_OPTIONS = LOADING;

const { contextSize, backend, threads, device, gpuLayers, mmproj, lora, chatTemplateFile, reasoning } = LOAD_OPTIONS;
const { temperature, topK, topP, minP, repeatPenalty, seed } = LOAD_OPTIONS;

/** Those that are flags of the command. */
export const CHAT_FLAGS: OptionRows = {
  ...CHAT_OPTIONS,
  ...{ contextSize, backend, threads, device, gpuLayers, mmproj, lora, chatTemplateFile, reasoning },
  ...{ temperature, topK, topP, minP, repeatPenalty, seed },
};

export const COMMON_OPTIONS = { ...DATA_DIR_OPTION, ...JSON_OPTION } as const satisfies OptionRows;
