/** Options of `chasqui batch run`, beside the load options. */
import type { OptionRows } from '../../options/option-row.js';

const GROUP = 'Batch';

export const BATCH_OPTIONS = {
  model: {
    type: 'string',
    flag: '--model',
    short: '-m',
    placeholder: 'path',
    group: GROUP,
    help: 'GGUF file, or a model that chasqui ls lists; requests may name any model',
    otherwise: 'the built-in demo model',
  },
  output: {
    type: 'string',
    flag: '--output',
    short: '-o',
    variable: 'CHASQUI_BATCH_OUTPUT',
    placeholder: 'path',
    group: GROUP,
    help: 'JSONL file of replies',
    otherwise: 'the file of requests with .out.jsonl as its extension',
  },
} as const satisfies OptionRows;
