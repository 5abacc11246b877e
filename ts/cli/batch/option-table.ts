/** Options of `chasqui batch run`, beside the load options. */
import { inGroup, text, type UngroupedRows } from '../../options/option-row.js';

export const BATCH_OPTIONS = inGroup('Batch', {
  model: {
    ...text('path'),
    short: '-m',
    help: 'GGUF file, or a model that chasqui ls lists; requests may name any model',
    otherwise: 'the built-in demo model',
  },
  output: {
    ...text('path'),
    short: '-o',
    variable: 'CHASQUI_BATCH_OUTPUT',
    help: 'JSONL file of replies',
    otherwise: 'the file of requests with .out.jsonl as its extension',
  },
} as const satisfies UngroupedRows);
